"""Rival methods as a scikit-learn classifier."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import nn

from firecv.errors import FileFormatError, RegimeError
from firecv.estimators.learning import check_finite
from firecv.estimators.network import NetworkClassifier
from firecv.estimators.progress import epochs_shown
from firecv.estimators.rival_choice import chosen_rival
from firecv.estimators.samples import ClassWeight
from firecv.estimators.validation import validation_set
from firecv.fire import Summary
from firecv.fire.validation import Given, as_validation
from firecv.models import Task
from firecv.regimes import WORDS, Regime, sees_at_most
from firecv.rivals.contract import Outcome, Rival, Target

TO_GIVE: dict[Regime, str] = {"unlabelled": "X_val", "labelled": "X_val and y_val"}
"""The arguments of `fit` that show a method what it must see."""


class RivalClassifier(NetworkClassifier):
    """A neural network trained by a method that FIRE is compared with.

    It takes what `firecv.estimators.FIREClassifier` takes, with the same meaning. A method sees of
    the validation set V what its regime says and no more, whatever is given.

    Parameters
    ----------
    method
        A name in `firecv.rivals.RIVALS`, such as ``"erm"`` (plain training), ``"iwerm"`` or
        ``"dann"``, with its default settings; or an instance, such as ``DANN(strength=0.5)``.
    hidden, image_shape, optimiser, rate, l2, batch_size, class_weight, verbose
        As for `FIREClassifier`.
    n_epochs
        Passes over all fragments together.
    random_state
        Seed of initial weights, shuffling and all that the method draws.

    Attributes
    ----------
    classes_
        The labels, sorted.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    network_
        The trained `torch.nn.Module`.
    weights_
        The weight that the method gave each training sample in the end, not counting
        `sample_weight`, and zero where that is zero; None for methods that weigh none.
    chosen_
        Settings that the method chose itself, by name.
    regime_
        What the method has seen of V: "none", "unlabelled" or "labelled".
    loss_curve_
        Mean loss of every epoch, as the method trains on it.
    n_iter_
        Number of epochs.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, X_val = rng.normal(size=(200, 2)), rng.normal(0.5, size=(50, 2))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> model = RivalClassifier("iwerm", hidden=(8,), rate=0.01, random_state=0)
    >>> model.fit(X, y, X_val=X_val).regime_
    'unlabelled'
    >>> bool(model.weights_[X[:, 0] > 0].mean() > model.weights_[X[:, 0] < 0].mean())
    True
    """

    method: str | Rival

    _kind: ClassVar[str] = "firecv-rival"

    def __init__(
        self,
        method: str | Rival = "erm",
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
    ) -> None:
        self.method = method
        self.hidden = hidden
        self.image_shape = image_shape
        self.optimiser = optimiser
        self.rate = rate
        self.l2 = l2
        self.batch_size = batch_size
        self.n_epochs = n_epochs
        self.class_weight = class_weight
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        fragments: ArrayLike | None = None,
        X_val: ArrayLike | None = None,
        y_val: ArrayLike | None = None,
        validation: Summary | None = None,
    ) -> Self:
        """Train from the beginning and return the estimator.

        Parameters
        ----------
        X, y
            Samples and labels.
        sample_weight
            What each sample's loss is multiplied with, besides the method's own weight; brought to
            mean one. Samples of weight zero are left out.
        fragments
            The fragment of each sample; all fragments are trained on together.
        X_val, y_val
            The validation set V, of which the method takes what its regime lets it see.
        validation
            A `firecv.fire.Summary`, which no rival can use; it is refused.
        """
        rival = chosen_rival(self.method)
        samples = self._admitted(X, y, sample_weight, fragments)
        training, network = self._training(), self._builder()()
        v = (X_val, y_val, validation)
        given = validation_set(self, *v, classes=self.classes_, dtype=self._dtype)
        target = _target(rival, given)
        losses: list[float] = []
        with epochs_shown(self.n_epochs, self.verbose) as show:

            def after_epoch(epoch: int, loss: float) -> None:
                losses.append(loss)
                show(rival.label, loss)

            outcome = rival.fit(
                Task(network),
                (samples.x, samples.y),
                target,
                training,
                self._seed,
                sample_weight=samples.weight,
                after_epoch=after_epoch,
            )
        check_finite(network)
        self._keep(network, rival.regime, losses, _for_all(outcome, samples.kept))
        return self

    def _state(self) -> tuple[dict[str, object], dict[str, object]]:
        facts: dict[str, object] = {
            "losses": self.loss_curve_,
            "regime": self.regime_,
            "chosen": self.chosen_,
        }
        arrays: dict[str, object] = {"network": dict(self.network_.state_dict())}
        if self.weights_ is not None:
            arrays["weights"] = torch.from_numpy(self.weights_)
        return facts, arrays

    def _restore(self, facts: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        self._training()  # which checks its settings
        rival = chosen_rival(self.method)
        if facts["regime"] != rival.regime:
            raise FileFormatError(
                f"the saved regime is {facts['regime']!r}, that of {rival.label} is "
                f"{rival.regime!r}; expected a folder as save() wrote it"
            )
        weights = arrays["weights"].numpy() if "weights" in arrays else None
        losses = [float(loss) for loss in facts["losses"]]
        self._keep(
            self._rebuilt(arrays["network"]),
            rival.regime,
            losses,
            Outcome(weights, facts["chosen"]),
        )

    def _keep(
        self, network: nn.Module, regime: Regime, losses: list[float], outcome: Outcome
    ) -> None:
        self.network_ = network
        self.regime_: Regime = regime
        self.loss_curve_ = losses
        self.n_iter_ = len(losses)
        self.weights_ = outcome.weights
        self.chosen_ = {str(name): float(value) for name, value in outcome.chosen.items()}


def _target(rival: Rival, given: Given) -> Target | None:
    """Return what a method sees of V: what its regime needs, and no more."""
    if isinstance(given, Summary):
        raise RegimeError(
            f"got a summary of a validation set, which no rival method can use, not "
            f"{rival.label} either; give X_val (and y_val), or use a FIREClassifier"
        )
    v = as_validation(given)
    if not sees_at_most(rival.regime, v.regime):
        raise RegimeError(
            f"{rival.label} needs {WORDS[rival.regime]} (regime {rival.regime!r}), but fit was "
            f"given {WORDS[v.regime]}; give {TO_GIVE[rival.regime]}, or choose another method"
        )
    if rival.regime == "none":
        return None
    assert v.x is not None
    return Target(v.x, v.y if rival.regime == "labelled" else None)


def _for_all(outcome: Outcome, kept: NDArray[np.bool_]) -> Outcome:
    """Return an outcome with a weight for every sample given, zero for those left out."""
    if outcome.weights is None:
        return outcome
    weights = np.zeros(len(kept))
    weights[kept] = outcome.weights
    return Outcome(weights, outcome.chosen)
