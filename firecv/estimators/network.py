"""What our classifiers share: how samples are let in, predictions, and the folder on disk."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted
from torch import nn

from firecv.errors import DataError
from firecv.estimators.samples import (
    ClassWeight,
    Samples,
    as_tensor,
    checked,
    checked_pair,
    classes_of,
    encoded,
    weights_of,
)
from firecv.estimators.settings import drawn_seed, network_builder
from firecv.estimators.storage import (
    as_json,
    damage_named,
    labels_from,
    read_arrays,
    read_facts,
    settings_from,
    write_folder,
)
from firecv.models import batches
from firecv.training import Training
from firecv.tree import Tree, check_match


class NetworkClassifier(ClassifierMixin, BaseEstimator, ABC):
    """A classifier whose network predicts; what trains the network is up to the class below."""

    # scikit-learn's way of storing what it is given hides the types from checkers.
    hidden: Sequence[int]
    image_shape: tuple[int, int, int] | None
    optimiser: Literal["adam", "sgd"]
    rate: float
    l2: float
    batch_size: int | None
    n_epochs: int
    class_weight: ClassWeight
    random_state: int | np.random.RandomState | None
    verbose: bool
    classes_: NDArray[Any]
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    network_: nn.Module

    _kind: ClassVar[str]
    """Name of the format of a saved folder."""

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of each class, of shape (n_samples, n_classes).

        Parameters
        ----------
        X
            Samples.
        """
        check_is_fitted(self, "network_")
        x = as_tensor(checked(self, X).astype(self._dtype))
        with torch.no_grad():
            scores = torch.cat([self.network_(part) for (part,) in batches(x, size=4096)])
        return scores.double().softmax(1).numpy()

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most probable label of each sample.

        Parameters
        ----------
        X
            Samples.
        """
        best = self.predict_proba(X).argmax(1)
        return self.classes_[best]

    def save(self, path: str | Path) -> None:
        """Write the fitted estimator to a folder, without pickle.

        Parameters
        ----------
        path
            The folder; an estimator in it is replaced.
        """
        check_is_fitted(self, "network_")
        facts = {
            "settings": self.get_params(deep=False),
            "classes": self.classes_,
            "n_features": self.n_features_in_,
            "features": getattr(self, "feature_names_in_", None),
            "dtype": self._dtype.name,
            "seed": self._seed,
        }
        plain = {name: as_json(value, name) for name, value in facts.items()}
        learned, arrays = self._state()
        write_folder(path, self._kind, plain | learned, arrays)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Return the estimator that `save` wrote; it predicts and goes on as the saved one.

        Parameters
        ----------
        path
            The folder.
        """
        with damage_named(path):
            facts = read_facts(path, cls._kind)
            model = cls().set_params(**settings_from(facts["settings"]))
            model.classes_ = labels_from(facts["classes"])
            model.n_features_in_ = int(facts["n_features"])
            if facts["features"] is not None:
                model.feature_names_in_ = labels_from(facts["features"])
            model._dtype, model._seed = np.dtype(str(facts["dtype"])), int(facts["seed"])
            model._restore(facts, read_arrays(path, facts))
        return model

    @abstractmethod
    def _state(self) -> tuple[dict[str, object], dict[str, object]]:
        """Return what was learned: facts in the way of JSON, and arrays."""

    @abstractmethod
    def _restore(self, facts: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        """Take over what `_state` returned, from a folder that may have been changed."""

    def _admitted(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        fragments: ArrayLike | None,
        *,
        name: str = "all",
        classes: ArrayLike | None = None,
        is_first: bool = True,
    ) -> Samples:
        """Return samples to train on; the first ones decide classes, features and precision."""
        x, labels = checked_pair(self, X, y, is_first=is_first)
        check_classification_targets(labels)
        if is_first:
            self.classes_ = classes_of(labels if classes is None else classes)
            self._dtype, self._seed = x.dtype, drawn_seed(self.random_state)
        elif classes is not None and not np.array_equal(self.classes_, classes_of(classes)):
            raise DataError(
                f"classes are {np.asarray(classes).tolist()}, at the first call they were "
                f"{self.classes_.tolist()}; they cannot change"
            )
        places = encoded(labels, self.classes_, "y")
        weight = weights_of(sample_weight, self.class_weight, places, self.classes_)
        return Samples.of(x.astype(self._dtype), places, weight, fragments, name)

    def _training(self) -> Training:
        return Training(self.n_epochs, self.batch_size, self.rate, self.optimiser, decay=self.l2)

    def _builder(self) -> Callable[[], nn.Module]:
        dtype = torch.float32 if self._dtype == np.float32 else torch.float64
        sizes = (self.n_features_in_, len(self.classes_))
        return network_builder(self.hidden, self.image_shape, sizes, dtype, self._seed)

    def _rebuilt(self, weights: Tree) -> nn.Module:
        """Return the network with given weights."""
        with torch.device("meta"):  # a damaged folder may ask for a network of any size
            shapes = dict(self._builder()().state_dict())
        check_match(shapes, weights)
        network = self._builder()()
        network.load_state_dict(weights)
        return network.eval()
