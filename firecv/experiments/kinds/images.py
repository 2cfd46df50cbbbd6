"""What the kinds on images share: images as networks take them, methods by name, and scores."""

import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from firecv.data import Arrays, Split, load
from firecv.data.arrays import Array
from firecv.data.pixels import check_images
from firecv.errors import DataError, FirecvNotice, NumericalError
from firecv.estimators import METHODS, FIREClassifier, RivalClassifier
from firecv.estimators.methods import FIRE_FORMS, network_of
from firecv.estimators.settings import Carry
from firecv.experiments.kinds.image_costs import Network
from firecv.models.scores import SCORES, scores
from firecv.regimes import WORDS, Regime, sees_at_most
from firecv.rivals import DAN, DANN, DDC, EIWERM, L2, RIVALS, DeepCORAL, Rival

Structure = Literal["diagonal", "lowrank"]

HIDDEN = (128, 64)
"""Units of the hidden layers of "mlp"; "cnn" is the paper's network."""
LOWRANK_EVERY = 10
"""Steps between two estimates of a Fisher of rank 50; Algorithm 1 has 1, which takes too long."""
REGIMES: tuple[Regime, ...] = ("none", "unlabelled", "labelled")
"""What a method can be given of V here; a summary would have to be of a network nobody has."""
WITH_STRENGTH: dict[str, Callable[[float], Rival]] = {
    "l2": lambda decay: L2(decays=(decay,)),
    "eiwerm": lambda gamma: EIWERM(gamma=gamma),
    "dann": DANN,
    "deepcoral": DeepCORAL,
    "ddc": DDC,
    "dan": DAN,
}
"""Rivals that have a strength: the penalty or the exponent, which is then not chosen."""
CHOOSING: dict[str, Callable[[int], Rival]] = {
    "l2": lambda n_folds: L2(n_folds=n_folds),
    "eiwerm": lambda n_folds: EIWERM(n_folds=n_folds),
}
"""Rivals that choose their strength by cross-validation unless it is given."""


class Labelled(NamedTuple):
    """Inputs of shape (n_samples, n_features), channels first, in [0, 1], and labels."""

    x: NDArray[np.float32]
    y: NDArray[np.int64]


@lru_cache(maxsize=2)
def read(dataset: str) -> Split:
    """Return a data set, which is kept for the next run; its arrays must not be changed."""
    return load(dataset)


def inputs(images: Array) -> NDArray[np.float32]:
    """Return images in [0, 1] as rows, channels first, the way our classifiers take them.

    Examples
    --------
    >>> inputs(np.array([[[[255, 51], [0, 102]]]], np.uint8)).tolist()  # 1 x 2 pixels, 2 channels
    [[1.0, 0.0, 0.20000000298023224, 0.4000000059604645]]
    """
    check_images(images)
    with_channels = images if images.ndim == 4 else images[..., None]
    rows = with_channels.transpose(0, 3, 1, 2).reshape(len(images), -1)
    return rows.astype(np.float32) / np.float32(255 if images.dtype == np.uint8 else 1)


def image_shape(arrays: Arrays) -> tuple[int, int, int]:
    """Return channels, height and width of images."""
    images = np.asarray(arrays.x)
    return (images.shape[3] if images.ndim == 4 else 1), images.shape[1], images.shape[2]


def check_method(method: str, regime: Regime, strength: float | None) -> None:
    """Raise `DataError` unless a method can be given just this of V, and has a strength if told.

    Examples
    --------
    >>> check_method("dann", "labelled", None)
    Traceback (most recent call last):
    firecv.errors.DataError: regime is 'labelled', but DANN makes use of the inputs of the \
validation set at most; say 'unlabelled'
    """
    if method not in (known := (*FIRE_FORMS, *RIVALS)):
        raise DataError(f"no network is trained by {method!r}; expected one of {', '.join(known)}")
    listed = METHODS[method]
    if regime not in REGIMES or not sees_at_most(listed.regime, regime):
        raise DataError(
            f"{listed.label} on images was given the regime {regime!r}; expected one of "
            f"{', '.join(REGIMES)} that shows at least {WORDS[listed.regime]}"
        )
    if not sees_at_most(regime, listed.most):
        raise DataError(
            f"regime is {regime!r}, but {listed.label} makes use of {WORDS[listed.most]} at most; "
            f"say {listed.most!r}"
        )
    if strength is not None and not (method.startswith("fire") or method in WITH_STRENGTH):
        raise DataError(f"{listed.label} has no strength, got {strength}; leave it out")


def classifier(
    method: str,
    strength: float | None,
    *,
    network: Network,
    shape: tuple[int, int, int],
    n_epochs: int,
    seed: int,
    carry: Carry = "model",
    structure: Structure | None = None,
    n_folds: int | None = None,
) -> FIREClassifier | RivalClassifier:
    """Return a method's estimator: Adam with rate 0.001 and batches of 128.

    At a seed all methods begin with the same weights.

    Parameters
    ----------
    method, strength
        One of `METHODS` that trains a network, and its strength if not its default.
    network, shape, n_epochs
        The network, the shape of an image and the passes over it.
    seed
        Of initial weights and all that training draws.
    carry
        What FIRE carries from fragment to fragment.
    structure
        Of its Fisher; by default "fire-paper" has the rank 50 that the paper gives for images,
        estimated every tenth step, and other forms of FIRE have a diagonal one.
    n_folds
        Of the cross-validation by which EIWERM and L2 choose; None for their own number.
    """
    model = network_of(method).set_params(
        hidden=HIDDEN,
        image_shape=shape if network == "cnn" else None,
        n_epochs=n_epochs,
        random_state=seed,
    )
    if isinstance(model, FIREClassifier):
        kept = structure or ("lowrank" if method == "fire-paper" else "diagonal")
        every = LOWRANK_EVERY if kept == "lowrank" else None
        return model.set_params(strength=strength, structure=kept, fisher_every=every, carry=carry)
    if strength is not None:
        return model.set_params(method=WITH_STRENGTH[method](strength))
    if n_folds is not None:
        return model.set_params(method=CHOOSING[method](n_folds))
    return model


def shown(
    validation: Labelled, regime: Regime
) -> tuple[NDArray[np.float32] | None, NDArray[np.int64] | None]:
    """Return what a regime shows of V: inputs and labels, inputs, or nothing."""
    return (
        None if regime == "none" else validation.x,
        validation.y if regime == "labelled" else None,
    )


def scored(
    train: Callable[[], FIREClassifier | RivalClassifier], test: Labelled, n_classes: int
) -> dict[str, float]:
    """Return the scores of the model that `train` returns; NaN if its training diverged.

    Parameters
    ----------
    train
        Trains and returns the model. Notices to users are not shown: there is nobody to heed them.
    test
        What is scored.
    n_classes
        Number of classes; those that the model was trained without have the probability 0.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FirecvNotice)
            model = train()
    except NumericalError:
        return dict.fromkeys(SCORES, float("nan"))
    probabilities = np.zeros((len(test.y), n_classes))
    probabilities[:, model.classes_] = model.predict_proba(test.x)
    return scores(probabilities, test.y)
