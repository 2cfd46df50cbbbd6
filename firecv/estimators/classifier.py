"""FIRE as a scikit-learn classifier."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from torch import nn

from firecv.errors import DataError
from firecv.estimators.fire_storage import learned_from_state, learned_to_state
from firecv.estimators.learning import Learned, Method, learn
from firecv.estimators.network import NetworkClassifier
from firecv.estimators.progress import epochs_shown
from firecv.estimators.samples import ClassWeight
from firecv.estimators.settings import (
    Carry,
    Preset,
    Strength,
    Weigher,
    check_choice,
    chosen_accumulation,
    chosen_fisher_every,
    chosen_form,
    chosen_strength,
)
from firecv.estimators.validation import validation_set
from firecv.fire import Accumulated, Summary
from firecv.fire.forms import Form
from firecv.fisher.structures import STRUCTURES
from firecv.regimes import Regime

IMAGE_COMPONENTS = 60
"""Principal components of images that weights are learned from; as many served rotated images."""


class FIREClassifier(NetworkClassifier):
    """A neural network trained over fragments, steered by what it may see of a validation set.

    Fragments are parts of the training data, such as sites, months or batches, whose inputs may be
    distributed differently from each other and from the validation set V. Scale inputs first.

    Parameters
    ----------
    form
        What FIRE does: ``"weigh"`` trains on all fragments together and weighs them with V's help,
        if V has labels by the influence of each on V (`FragmentWeigher`), and then on V as well;
        ``"precondition"``, ``"trace"``, ``"quadratic"`` and ``"align"`` train on one fragment after
        the other, as `firecv.fire.Fire` says. `weigh` without fragments or without V is plain
        training.
    strength
        How strong FIRE is. At 0, training is plain and V is not looked at. None is the default of
        the form: 0.1, for `trace` 0.01, and with `weigh` that of the rule (for influence 1).
        ``"auto"`` sets it over the first steps of every fragment.
    structure
        Of the Fisher: ``"diagonal"``, ``"kronecker"``, ``"lowrank"``, ``"block"``, ``"dense"``,
        ``"scalar"``.
    mix
        Share of a fragment against V in its Fisher.
    decay
        What is kept of earlier fragments at each step of the average.
    preset
        ``"paper"`` is Algorithm 1 to the letter: form `precondition`, one step of the average per
        mini-batch, no debiasing and no normalization, whatever the structure. Strength, mix, decay
        and `fisher_every` are those given; the defaults are the paper's.
    fisher_every : int, default=None
        Steps from one estimate of the batch's Fisher to the next, for `precondition` and
        `quadratic`. None is 1 with ``preset="paper"`` and for `precondition` with a diagonal
        Fisher, 10 for `precondition` with another structure and 20 for `quadratic`. The other
        forms do not use it.
    carry
        ``"model"``: a fragment goes on with the network of the one before. ``"fisher"``: every
        fragment trains a new network from the same initial weights, and only the accumulated
        Fisher goes on; the network of the last fragment predicts.
    rule
        How `weigh` weighs: ``"influence"``, which needs V's labels, or without them
        ``"information"``, ``"mixture"`` or ``"distance"``. None is influence if V has labels, else
        information.
    hidden
        Units of the hidden layers of a ReLU network.
    image_shape
        Channels, height and width of samples that are images; then the network is the paper's
        convolutional one, and `hidden` is not used.
    optimiser
        ``"adam"`` or ``"sgd"``; every fragment begins with a new one.
    rate
        Learning rate.
    l2
        L2 penalty on all parameters, the optimiser's own.
    batch_size
        Samples in a step; None for all of them.
    n_epochs
        Passes over each fragment; with `weigh` over all of them together.
    class_weight
        A weight by label, or ``"balanced"`` over the samples of each call.
    random_state
        Seed of initial weights, shuffling and draws from V.
    verbose
        Whether to show progress on a terminal.

    Attributes
    ----------
    classes_
        The labels, sorted.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    network_
        The trained `torch.nn.Module`.
    fisher_
        The Fisher accumulated over fragments, as training uses it; None for forms that keep none
        (`weigh`, `trace`, `align`) and at strength 0.
    weights_
        With `weigh`, the weight of each fragment of the last call, by name; with
        `validation_weight_` they sum to one. None for other forms.
    validation_weight_
        Weight of V's rows in training: above 0 with `weigh` by influence only.
    shift_test_
        With `weigh`, the last `ShiftTest` of V against the fragments; None if there was none.
    regime_
        The most that was seen of any validation set: "none", "summary", "labelled_summary",
        "unlabelled" or "labelled".
    loss_curve_
        Mean loss of every epoch, with all weights of samples and fragments.
    n_iter_
        Number of epochs, over all fragments.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, X_val = rng.normal(size=(200, 3)), rng.normal(1.0, size=(50, 3))
    >>> y, months = (X[:, 0] > 0).astype(int), np.repeat(["Jan", "Feb"], 100)
    >>> model = FIREClassifier(form="quadratic", hidden=(8,), rate=0.01, random_state=0)
    >>> model.fit(X, y, fragments=months, X_val=X_val).regime_
    'unlabelled'
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    # scikit-learn's way of storing what it is given hides the types from checkers.
    form: Form
    strength: Strength
    preset: Preset
    carry: Carry
    rule: Weigher

    _kind: ClassVar[str] = "firecv-estimator"

    def __init__(
        self,
        *,
        form: Form = "weigh",
        strength: Strength = None,
        structure: str = "diagonal",
        mix: float = 0.5,
        decay: float = 0.9,
        preset: Preset = None,
        fisher_every: int | None = None,
        carry: Carry = "model",
        rule: Weigher = None,
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
        self.form = form
        self.strength = strength
        self.structure = structure
        self.mix = mix
        self.decay = decay
        self.preset = preset
        self.fisher_every = fisher_every
        self.carry = carry
        self.rule = rule
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
            What each sample's loss is multiplied with; brought to mean one. The Fishers of
            fragments do not know of it, except that samples of weight zero are left out.
        fragments
            The fragment of each sample: its site, month or batch number. They are trained on in
            the order in which they first appear. By default all samples are one fragment.
        X_val, y_val
            The validation set V. Without `y_val` it is unlabelled; without both nothing is seen.
        validation
            Instead, a `firecv.fire.Summary` of a V that stays elsewhere.
        """
        v = (X_val, y_val, validation)
        return self._learn(X, y, None, sample_weight, fragments, v, is_first=True)

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        fragments: ArrayLike | None = None,
        X_val: ArrayLike | None = None,
        y_val: ArrayLike | None = None,
        validation: Summary | None = None,
    ) -> Self:
        """Train on one more fragment that has arrived and return the estimator.

        The accumulated Fisher goes on, and with ``carry="model"`` the network; the optimiser
        begins anew. With the form `weigh` only fragments of one call are weighed against each
        other.

        Parameters
        ----------
        X, y
            Samples and labels of the fragment.
        classes
            All labels there will ever be; needed at the first call.
        sample_weight, fragments, X_val, y_val, validation
            As for `fit`, for this call alone: without V, this fragment is trained on without.
        """
        is_first = not hasattr(self, "network_")
        if classes is None and is_first:
            raise DataError("the first call of partial_fit needs classes: all labels there will be")
        v = (X_val, y_val, validation)
        return self._learn(X, y, classes, sample_weight, fragments, v, is_first=is_first)

    def _state(self) -> tuple[dict[str, object], dict[str, object]]:
        return learned_to_state(self._learned)

    def _restore(self, facts: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        method, network = self._method(), self._rebuilt(arrays["network"])
        learned = learned_from_state(facts, arrays, network, method.accumulation)
        self._keep(learned, method.form)

    def _learn(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None,
        sample_weight: ArrayLike | None,
        fragments: ArrayLike | None,
        v: tuple[ArrayLike | None, ArrayLike | None, Summary | None],
        *,
        is_first: bool,
    ) -> Self:
        k = 0 if is_first else self._learned.n_trainings
        samples = self._admitted(
            X,
            y,
            sample_weight,
            fragments,
            name=f"fragment {k + 1}",
            classes=classes,
            is_first=is_first,
        )
        method = self._method()
        if is_first:
            start = Learned(method.build(), Accumulated(method.accumulation))
        else:
            known = replace(self._learned.known, settings=method.accumulation)
            start = replace(self._learned, known=known)
        n_epochs = self.n_epochs * (1 if method.form == "weigh" else len(samples.fragments))
        given = validation_set(self, *v, classes=self.classes_, dtype=self._dtype)
        with epochs_shown(n_epochs, self.verbose) as show:
            self._keep(learn(method, start, samples, given, show), method.form)
        return self

    @classmethod
    def of_network(
        cls,
        network: nn.Module,
        classes: Sequence[int],
        *,
        n_features: int,
        hidden: Sequence[int],
        regime: Regime,
        weights: dict[str, float],
        seed: int = 0,
    ) -> Self:
        """Return a fitted classifier of a network that was trained elsewhere, such as by clients.

        Parameters
        ----------
        network
            A ReLU network in single precision, from features through `hidden` units to scores.
        classes
            Labels, in the order of the network's scores.
        n_features, hidden
            Its sizes.
        regime
            What its training has seen of V.
        weights
            Of the fragments in training, by name.
        seed
            Of its training.

        Examples
        --------
        >>> from torch import nn
        >>> layers = nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2)
        >>> model = FIREClassifier.of_network(
        ...     nn.Sequential(*layers), [0, 1], n_features=2, hidden=(3,), regime="none", weights={}
        ... )
        >>> model.predict_proba(np.zeros((5, 2))).shape
        (5, 2)
        """
        model = cls(hidden=tuple(hidden), random_state=seed)
        model.classes_, model.n_features_in_ = np.array(classes), n_features
        model._dtype, model._seed = np.dtype(np.float32), seed
        known = Accumulated(chosen_accumulation(model.mix, model.decay, model.preset))
        network = model._rebuilt(dict(network.state_dict()))
        model._keep(Learned(network, known, 1, (), regime, weights), model.form)
        return model

    def _method(self) -> Method:
        form = chosen_form(self.form, self.preset, self.carry, self.rule)
        check_choice("structure", self.structure, STRUCTURES)
        return Method(
            form,
            chosen_strength(self.strength, form),
            STRUCTURES[self.structure],
            chosen_accumulation(self.mix, self.decay, self.preset),
            chosen_fisher_every(self.fisher_every),
            self.carry,
            self.rule,
            self._training(),
            self._seed,
            self._builder(),
            None if self.image_shape is None else IMAGE_COMPONENTS,
        )

    def _keep(self, learned: Learned, form: Form) -> None:
        self._learned = learned
        self.network_ = learned.network
        self.fisher_ = learned.known.remembered(form)
        self.regime_ = learned.regime
        self.loss_curve_ = list(learned.losses)
        self.n_iter_ = len(learned.losses)
        self.weights_ = learned.weights
        self.validation_weight_ = learned.validation_weight
        self.shift_test_ = learned.shift_test
