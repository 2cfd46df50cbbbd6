"""Train one method on a table in fragments."""

from collections.abc import Sequence
from dataclasses import fields, make_dataclass
from importlib.metadata import version
from inspect import Parameter, signature
from typing import Any, Literal, NamedTuple, cast, get_type_hints

import numpy as np
from sklearn.base import clone

from firecv.data.arrays import Arrays, Fragmented
from firecv.data.encode import encode
from firecv.data.specification import configured
from firecv.errors import DataError, RegimeError
from firecv.estimators import METHODS, FIREClassifier, RivalClassifier
from firecv.estimators.methods import FIRE_FORMS, FIRE_MODELS, network_of
from firecv.estimators.rival_choice import chosen_rival, listed_name
from firecv.regimes import Regime, require
from firecv.rivals import RIVALS
from firecv.trained.encoding import Encoding
from firecv.trained.folder import Estimator
from firecv.trained.model import Facts, Trained

Seen = Literal["none", "unlabelled", "labelled"]
FIXED = {"self", "form", "preset", "method", "image_shape", "random_state", "verbose"}
"""Arguments of estimators that are settled by the method's name or by `train`."""


def train(
    data: Fragmented,
    *,
    method: str | Estimator = "fire",
    settings: Sequence[str] = (),
    sees: Seen | None = None,
    target: str | None = None,
    seed: int = 0,
    verbose: bool = False,
) -> Trained:
    """Return a model trained on all fragments of a table.

    Parameters
    ----------
    data
        Fragments and validation set V, as `firecv.data.own.own` makes them; V may be absent or
        without labels.
    method
        A key of `firecv.METHODS`, or an estimator that is not fitted yet.
    settings
        Of a method given by its key, as `estimator_of` takes them.
    sees
        What the method may see of V. By default its inputs, and its labels if the method cannot do
        without.
    target
        Name of the column that is predicted, for the model to be kept with.
    seed
        Of all that is drawn at random, in place of an estimator's own `random_state`.
    verbose
        Whether to show progress on a terminal.

    Examples
    --------
    >>> import pandas as pd
    >>> from firecv.data.own import own
    >>> rows = [(site, 10.0 * i, "young" if i < 5 else "old") for i in range(10) for site in "AB"]
    >>> frame = pd.DataFrame(rows, columns=["site", "age", "word"])
    >>> data = own(frame, target="word", fragment="site", validation=0.2)
    >>> trained = train(data, settings=["hidden=8", "n_epochs=200", "rate=0.02"])
    >>> trained.predict(pd.DataFrame({"age": [5, 95]})).tolist(), trained.facts.regime
    (['young', 'old'], 'unlabelled')
    """
    estimator, name = _chosen(method, settings)
    _check_tables(data)
    encoded, pipeline = encode(data)
    encoding = Encoding.of(pipeline)  # before training, since it may refuse categories
    v = encoded.validation
    seen = _seen(name, v, sees)
    x, y, fragments = _joined(encoded)
    estimator.set_params(random_state=seed, verbose=verbose)
    estimator.fit(
        x,
        y,
        fragments=fragments,
        X_val=None if v is None or seen == "none" else v.x,
        y_val=v.y if v is not None and seen == "labelled" else None,
    )
    first = next(iter(data.fragments.values()))
    facts = Facts(
        method=name,
        regime=cast(Regime, estimator.regime_),
        target=target,
        classes=tuple(first.classes[code] for code in estimator.classes_),
        tags=tuple(first.tags),
        seed=seed,
        sizes={name: len(part) for name, part in data.fragments.items()},
        n_validation=0 if v is None else len(v),
        accuracy=_accuracy(estimator, v),
        package=version("firecv"),
    )
    return Trained(encoding, estimator, facts)


def estimator_of(name: str, settings: Sequence[str] = ()) -> Estimator:
    """Return the estimator of a method with its settings, which have the types of its arguments.

    Parameters
    ----------
    name
        A key of `firecv.METHODS` that trains a network.
    settings
        As ``"name=value"``: arguments of `FIREClassifier` or `RivalClassifier`, and for rivals
        settings of the method itself as ``"method.name=value"``.

    Examples
    --------
    >>> estimator_of("fire", ["hidden=64,32", "strength=auto", "batch_size=none"]).hidden
    (64, 32)
    >>> estimator_of("dann", ["method.strength=0.5", "n_epochs=50"]).method
    DANN(strength=0.5, hidden=100)
    >>> estimator_of("erm", ["n_epoch=50"])
    Traceback (most recent call last):
    firecv.errors.DataError: the method 'erm' has no setting 'n_epoch'; did you mean 'n_epochs'?
    """
    if name in FIRE_MODELS:
        raise DataError(
            f"the method {name!r} trains a scikit-learn model, which a model folder cannot hold; "
            f"train it in Python with firecv.FIREWeighted, or choose 'fire'"
        )
    registry = {key: _Entry(_settings_of(key)) for key in (*FIRE_FORMS, *RIVALS)}
    _, found = configured(name, settings, registry, "method")
    values = {field.name: getattr(found, field.name) for field in fields(found)}
    return network_of(name).set_params(**values)


class _Entry(NamedTuple):
    settings: type[Any]


def _settings_of(name: str) -> type[Any]:
    """Return the settings of a method as a dataclass: the free arguments of its estimator."""
    kind = FIREClassifier if name in FIRE_FORMS else RivalClassifier
    types = get_type_hints(kind.__init__)
    free: list[tuple[str, Any, Any]] = [
        (key, types[key], argument.default)
        for key, argument in signature(kind.__init__).parameters.items()
        if key not in FIXED and argument.default is not Parameter.empty
    ]
    if name in RIVALS:
        free.append(("method", RIVALS[name], RIVALS[name]()))
    return make_dataclass(name.title().replace("-", ""), free, frozen=True)


def _chosen(method: str | Estimator, settings: Sequence[str]) -> tuple[Estimator, str]:
    """Return an estimator that is not fitted yet, and the key of its method."""
    if isinstance(method, str):
        return estimator_of(method, settings), method
    if settings:
        raise DataError(
            f"got the settings {list(settings)} and an estimator, which has settings of its own; "
            f"change them there, or give a method by its name"
        )
    estimator = cast(Estimator, clone(method))
    if isinstance(estimator, RivalClassifier):
        return estimator, listed_name(chosen_rival(estimator.method))
    form = "precondition" if estimator.preset == "paper" else estimator.form
    names = {pair: name for name, pair in FIRE_FORMS.items()}
    return estimator, names.get((form, estimator.preset), "fire")  # fit refuses other forms


def _check_tables(data: Fragmented) -> None:
    for name, part in data.fragments.items():
        if isinstance(part.x, np.ndarray) and part.x.ndim != 2:
            raise DataError(
                f"the inputs of fragment {name!r} have shape {part.x.shape}; only tables are "
                f"trained on here, for images use firecv.FIREClassifier with image_shape"
            )


def _seen(name: str, v: Arrays | None, sees: Seen | None) -> Seen:
    """Return what a method is shown of V, having checked that it is there and enough."""
    there: Regime = "none" if v is None else "labelled" if v.is_labelled else "unlabelled"
    needed, label = METHODS[name].regime, METHODS[name].label
    if sees is None:
        sees = "labelled" if needed == "labelled" else "none" if v is None else "unlabelled"
    elif sees != "none" and v is None or sees == "labelled" and there != "labelled":
        raise RegimeError(
            f"{label} is to see V {sees}, but "
            + ("there is none" if v is None else "V has no labels")
            + "; give validation data with what is to be seen of it"
        )
    require(needed, sees, label)
    require(sees, there, label)
    return sees


def _joined(data: Fragmented) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return inputs, labels and fragment names of all training rows."""
    parts = list(data.fragments.values())
    names = np.repeat(np.array(list(data.fragments), object), [len(part) for part in parts])
    x = np.concatenate([np.asarray(part.x) for part in parts])
    return x, np.concatenate([part.y for part in parts]), names


def _accuracy(estimator: Estimator, v: Arrays | None) -> float | None:
    """Return the share of V that is predicted right; None where there are no labels."""
    if v is None or not v.is_labelled:
        return None
    return float(np.mean(estimator.predict(np.asarray(v.x)) == v.y))
