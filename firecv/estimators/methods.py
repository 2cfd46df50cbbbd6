"""Every method by name: FIRE for every kind of model, its forms, and all rivals."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from firecv.estimators.classifier import FIREClassifier
from firecv.estimators.rival import RivalClassifier
from firecv.estimators.rival_choice import check_name
from firecv.estimators.samples import ClassWeight
from firecv.estimators.settings import Preset
from firecv.estimators.weighted import FIREWeighted
from firecv.fire.forms import Form
from firecv.regimes import Regime
from firecv.rivals import RIVALS

FIRE_FORMS: dict[str, tuple[Form, Preset]] = {
    "fire": ("weigh", None),
    "fire-precondition": ("precondition", None),
    "fire-trace": ("trace", None),
    "fire-quadratic": ("quadratic", None),
    "fire-align": ("align", None),
    "fire-paper": ("precondition", "paper"),
}
FIRE_MODELS: dict[str, tuple[str, Callable[..., Any]]] = {
    "fire-linear": (
        "logistic regression",
        lambda **given: make_pipeline(StandardScaler(), LogisticRegression(max_iter=500, **given)),
    ),
    "fire-boosting": ("boosting", HistGradientBoostingClassifier),
}
"""scikit-learn models that FIRE's weights are given to: how they are called and made."""


@dataclass(frozen=True)
class Listed:
    """What is known of a method before it is fitted.

    Attributes
    ----------
    label
        Its name in tables.
    regime
        The least it must see of the validation set V.
    most
        The most it makes use of, if given. A fitted estimator's `regime_` says what it has seen.
    """

    label: str
    regime: Regime
    most: Regime


def make_classifier(
    name: str,
    *,
    hidden: Sequence[int] = (100,),
    image_shape: tuple[int, int, int] | None = None,
    optimiser: Literal["adam", "sgd"] = "adam",
    rate: float = 1e-3,
    l2: float = 0.0,
    batch_size: int | None = 128,
    n_epochs: int = 100,
    class_weight: ClassWeight = None,
    random_state: int | np.random.RandomState | None = None,
    verbose: bool = False,
) -> FIREClassifier | RivalClassifier | FIREWeighted:
    """Return an estimator of the method of a name, with the method's default settings.

    Parameters
    ----------
    name
        One of `METHODS`.
    hidden, image_shape, optimiser, rate, l2, batch_size, verbose
        As for `FIREClassifier`. ``fire-linear`` and ``fire-boosting`` train no network and ignore
        these.
    class_weight, random_state
        As for `FIREClassifier`.
    n_epochs
        How often each sample is trained on: fragment by fragment with the forms of FIRE that a
        name adds to ``fire``, all fragments together otherwise.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, X_val = rng.normal(size=(100, 2)), rng.normal(0.5, size=(40, 2))
    >>> y, sites = (X[:, 0] > 0).astype(int), np.arange(100) % 2
    >>> for name in ("erm", "iwerm", "fire"):
    ...     model = make_classifier(name, hidden=(8,), n_epochs=20, rate=0.02, random_state=0)
    ...     print(name, model.fit(X, y, fragments=sites, X_val=X_val).regime_)
    erm none
    iwerm unlabelled
    fire unlabelled
    """
    check_name("name", name, METHODS)
    if name in FIRE_MODELS:
        inner = FIRE_MODELS[name][1](class_weight=class_weight, random_state=random_state)
        return FIREWeighted(inner, random_state=random_state)
    return network_of(name).set_params(
        hidden=hidden,
        image_shape=image_shape,
        optimiser=optimiser,
        rate=rate,
        l2=l2,
        batch_size=batch_size,
        n_epochs=n_epochs,
        class_weight=class_weight,
        random_state=random_state,
        verbose=verbose,
    )


def network_of(name: str) -> FIREClassifier | RivalClassifier:
    """Return a method that trains a network, with default settings.

    Parameters
    ----------
    name
        One of `METHODS` but ``fire-linear`` and ``fire-boosting``.
    """
    if name in FIRE_FORMS:
        form, preset = FIRE_FORMS[name]
        return FIREClassifier(form=form, preset=preset)
    return RivalClassifier(name)


def _listed_form(name: str) -> Listed:
    form = name.partition("-")[2]
    least: Regime = "summary" if form == "align" else "none"
    return Listed(f"FIRE ({form})" if form else "FIRE", least, "labelled")


METHODS: dict[str, Listed] = (
    {name: _listed_form(name) for name in FIRE_FORMS}
    | {
        name: Listed(f"FIRE ({label})", "labelled", "labelled")
        for name, (label, _) in FIRE_MODELS.items()
    }
    | {name: Listed(rival.label, rival.regime, rival.regime) for name, rival in RIVALS.items()}
)
"""All methods: the forms of FIRE, other models with its weights, and the rivals."""
