"""Perceptrons trained on rotated images, by every control and by FIRE; what measures a run."""

import warnings
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from firecv.estimators import FragmentWeigher
from firecv.estimators.settings import network_builder
from firecv.experiments.kinds.images import HIDDEN, Labelled, classifier, image_shape, read
from firecv.experiments.kinds.turned_images import cut, drawn, turned
from firecv.fire.weigh.influence import SHARES
from firecv.fire.weigh.network import weigh_by_network
from firecv.models import Task
from firecv.training import Training

N_COMPONENTS = 60
"""Principal components of the pixels that weights and the linear model are learned from."""
N_FOLDS = 3
"""Of the cross-validation that chooses V's share: five would take seven more fits."""
STRENGTHS = {"trace": 0.001, "align": 1.0}
"""As in the tables of rotated images."""
RIVALS = {"erm": "erm", "pooled": "pooled", "half": "pooledhalf"}
BATCH = 128


class Problem(NamedTuple):
    """Training images with their fragments, V, T, and the shape of an image."""

    train: Labelled
    fragments: NDArray[np.intp]
    validation: Labelled
    test: Labelled
    shape: tuple[int, int, int]
    n_classes: int

    def both(self) -> Labelled:
        """Return training images and V together."""
        (x, y), (x_val, y_val) = self.train, self.validation
        return Labelled(np.concatenate([x, x_val]), np.concatenate([y, y_val]))

    def shared(self, share: float) -> NDArray[np.float64]:
        """Return sample weights with which V has this share of the loss, with mean one."""
        n, n_val = len(self.train.y), len(self.validation.y)
        parts = np.full(n, (1 - share) / n), np.full(n_val, share / n_val)
        return np.concatenate(parts) * (n + n_val)


@lru_cache(maxsize=1)
def drawn_problem(
    dataset: str,
    angles: tuple[float, float],
    numbers: tuple[int, int, int],
    n_fragments: int,
    seed: int,
) -> Problem:
    """Return the images of a seed, which are kept for the next method.

    Parameters
    ----------
    dataset
        A name in `firecv.data.DATASETS` of images.
    angles
        Parameters a and b of the beta distribution of training angles.
    numbers
        Of images to train on, of V and of T.
    n_fragments
        Number of fragments.
    seed
        Of images and angles.
    """
    split, (a, b) = read(dataset), angles
    train, validation, test = drawn(split, seed, *numbers)
    u, trained = turned(train, a, b, "train", seed)
    return Problem(
        trained,
        cut(u, n_fragments, "angle", seed),
        turned(validation, b, a, "validation", seed)[1],
        turned(test, b, a, "test", seed)[1],
        image_shape(split.train),
        len(split.train.classes),
    )


def fitted(method: str, problem: Problem, n_epochs: int, seed: int) -> Any:
    """Return the model that a method trains, as `InfluenceImages` names them."""
    (x, y), (x_val, y_val) = problem.train, problem.validation
    build = partial(_network, problem, seed=seed, n_epochs=n_epochs)
    match method:
        case "majority":
            return DummyClassifier().fit(x, y)
        case "erm" | "pooled" | "half":
            return build(RIVALS[method]).fit(x, y, X_val=x_val, y_val=y_val)
        case "half-weighted":
            return build("erm").fit(*problem.both(), sample_weight=problem.shared(0.5))
        case "share":
            share = _share(problem, build, seed)
            return build("erm").fit(*problem.both(), sample_weight=problem.shared(share))
        case "alone":
            n_steps = n_epochs * -(-len(y) // BATCH)  # as many as the others take
            n_passes = n_steps // -(-len(y_val) // BATCH)
            return _network(problem, "erm", seed, n_passes).fit(x_val, y_val)
        case "linear":
            regression = LogisticRegression(max_iter=500)
            axes = PCA(N_COMPONENTS, random_state=seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # good enough for accuracy
                return make_pipeline(StandardScaler(), axes, regression).fit(*problem.both())
        case "trace" | "align":
            model = build(f"fire-{method}", strength=STRENGTHS[method])
            return model.fit(x, y, X_val=x_val, y_val=y_val)
        case "fire-network":
            weight = _network_weights(problem, n_epochs, seed)
            return build("erm").fit(*problem.both(), sample_weight=weight)
        case _:
            weigher = FragmentWeigher(n_components=N_COMPONENTS, random_state=seed)
            weigher.fit(x, y, fragments=problem.fragments, X_val=x_val, y_val=y_val)
            weight = np.append(weigher.sample_weight_, weigher.validation_sample_weight_)
            return build("erm").fit(*problem.both(), sample_weight=weight)


def _network(
    problem: Problem, method: str, seed: int, n_epochs: int, strength: float | None = None
) -> Any:
    """Return the perceptron of the tables of rotated images, trained by a method."""
    return classifier(
        method, strength, network="mlp", shape=problem.shape, n_epochs=n_epochs, seed=seed
    )


def _network_weights(problem: Problem, n_epochs: int, seed: int) -> NDArray[np.float64]:
    """Return sample weights by influence through the curvature of the perceptron."""
    fragments, (n, n_features) = problem.fragments, problem.train.x.shape
    sizes = (n_features, problem.n_classes)
    task = Task(network_builder(HIDDEN, None, sizes, torch.float32, seed)())
    x, y, x_val, y_val = map(torch.from_numpy, (*problem.train, *problem.validation))
    rows = [torch.from_numpy(fragments == k) for k in range(fragments.max() + 1)]
    parts = [(x[own], y[own]) for own in rows]
    training = Training(n_epochs=n_epochs, batch_size=BATCH)
    result = weigh_by_network(task, parts, (x_val, y_val), training, seed=seed)
    of_row = (result.weights / np.bincount(fragments))[fragments]
    of_v = np.full(len(y_val), result.validation_weight / len(y_val))
    return np.append(of_row, of_v) * (n + len(y_val))


def _share(problem: Problem, build: partial[Any], seed: int) -> float:
    """Return V's share of lowest log loss in cross-validation on V, fragments at n/N."""
    n, (x_val, y_val) = len(problem.train.y), problem.validation
    shares = (len(y_val) / (n + len(y_val)), *SHARES)
    totals = np.zeros(len(shares))
    for kept, held in KFold(N_FOLDS, shuffle=True, random_state=seed).split(x_val):
        part = problem._replace(validation=Labelled(x_val[kept], y_val[kept]))
        for k, share in enumerate(shares):
            model = build("erm").fit(*part.both(), sample_weight=part.shared(share))
            chances = model.predict_proba(x_val[held])
            totals[k] += log_loss(y_val[held], chances, labels=model.classes_, normalize=False)
    return shares[int(totals.argmin())]
