"""Cross-validation over fragments: plain training (st-CV) beside FIRE, fragment by fragment."""

from typing import Literal, NamedTuple, cast, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.metrics import accuracy_score, log_loss

from firecv.data.arrays import Array, Rows
from firecv.errors import DataError, ModelError
from firecv.estimators.classifier import FIREClassifier
from firecv.estimators.settings import Carry, check_choice, drawn_seed
from firecv.estimators.splits import FragmentSplit, Piece, Protocol

Table = Array | pd.DataFrame
Seen = Literal["none", "unlabelled", "labelled"]
Metric = Literal["accuracy", "balanced_accuracy", "log_loss"]


def fragment_cross_validate(
    estimator: FIREClassifier,
    X: ArrayLike | pd.DataFrame,
    y: ArrayLike,
    *,
    fragmenter: str = "batches:n=10",
    fragments: ArrayLike | None = None,
    protocol: Protocol = "clean",
    regime: Seen = "unlabelled",
    validation_rate: float = 0.2,
    carry: Carry = "fisher",
    random_state: int = 0,
) -> pd.DataFrame:
    """Return scores of st-CV and of FIRE after every fragment, a row each.

    st-CV is the same estimator at strength 0: same initial weights, same order of samples. The
    columns are fragment, method, n (samples trained on), regime, protocol, optimistic (whether a
    method saw the rows it is scored on), accuracy, balanced_accuracy and log_loss.

    Parameters
    ----------
    estimator
        The method and its settings.
    X, y
        Samples and labels, all of them.
    fragmenter
        How training data are cut, as for `FragmentSplit`; with "folds" every fold is held out in
        turn.
    fragments
        Instead, the fragment of each sample.
    protocol
        "clean" scores a test set that no method sees; "paper" scores V itself.
    regime
        What FIRE sees of V: nothing, inputs, or inputs and labels.
    validation_rate
        Share of the data held out, for V and T together.
    carry
        "fisher": every fragment trains a new network from the same initial weights, and only the
        accumulated Fisher goes on; "model": the network goes on too. With the form `weigh`, which
        needs "model", all fragments that have arrived are trained on together.
    random_state
        Seed of the split, and of the estimator if it has none.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> model = FIREClassifier(form="trace", hidden=(4,), n_epochs=20, rate=0.01)
    >>> table = fragment_cross_validate(model, X, y, fragmenter="batches:n=2")
    >>> table[["fragment", "method", "n", "regime", "optimistic"]]
      fragment method   n      regime  optimistic
    0  batch 1  st-CV  80        none       False
    1  batch 2  st-CV  80        none       False
    2  batch 1   FIRE  80  unlabelled       False
    3  batch 2   FIRE  80  unlabelled       False
    """
    check_choice("regime", regime, get_args(Seen))
    is_folds = fragments is None and fragmenter.strip().startswith("folds")
    _check(estimator, carry, is_folds=is_folds)
    data = _Data(X if isinstance(X, pd.DataFrame) else np.asarray(X), np.asarray(y))
    splitter = FragmentSplit(
        fragmenter,
        protocol=protocol,
        validation_rate=validation_rate,
        random_state=random_state,
    )
    pieces = splitter.pieces(data.x, data.y, fragments)
    seed = estimator.random_state
    seed = random_state if seed is None else drawn_seed(seed)
    rows: list[dict[str, object]] = []
    for method, changes in (("st-CV", {"strength": 0}), ("FIRE", {})):
        model = cast("FIREClassifier", clone(estimator))
        model.set_params(carry=carry, random_state=seed, **changes)
        for place, piece in enumerate(pieces):
            _arrive(model, data, pieces[: place + 1], regime)
            is_seen = protocol == "paper" and model.regime_ != "none"
            rows.append(
                {
                    "fragment": piece.name,
                    "method": method,
                    "n": len(piece.train),
                    "regime": model.regime_,
                    "protocol": protocol,
                    "optimistic": is_seen,
                    **_scores(model, data, piece.test),
                }
            )
    return pd.DataFrame(rows)


def fragment_summary(table: pd.DataFrame, metric: Metric = "accuracy") -> pd.DataFrame:
    """Return mean and variance over fragments of each method, and how far it is from st-CV.

    Parameters
    ----------
    table
        What `fragment_cross_validate` returned.
    metric
        The column to summarise. Differences are in points, which are hundredths, and in percent of
        st-CV's mean; for the log loss less is better.

    Examples
    --------
    >>> table = pd.DataFrame({"method": ["st-CV", "st-CV", "FIRE", "FIRE"],
    ...                       "accuracy": [0.7, 0.9, 0.8, 0.84]})
    >>> fragment_summary(table).round(4)
      method  n_fragments  mean  variance  delta_points  relative_percent
    0  st-CV            2  0.80    0.0200           0.0               0.0
    1   FIRE            2  0.82    0.0008           2.0               2.5
    """
    check_choice("metric", metric, get_args(Metric))
    values = {
        str(name): part[metric].to_numpy(np.float64)
        for name, part in table.groupby("method", sort=False)
    }
    if "st-CV" not in values:
        raise DataError(
            f"the table holds the methods {list(values)}; expected st-CV among them, as "
            f"fragment_cross_validate gives it"
        )
    plain = float(values["st-CV"].mean())
    rows: list[dict[str, object]] = []
    for method, part in values.items():
        delta = 100 * (float(part.mean()) - plain)
        rows.append(
            {
                "method": method,
                "n_fragments": len(part),
                "mean": float(part.mean()),
                "variance": float(part.var(ddof=1)) if len(part) > 1 else float("nan"),
                "delta_points": delta,
                "relative_percent": delta / plain if plain else float("nan"),
            }
        )
    return pd.DataFrame(rows)


class _Data(NamedTuple):
    x: Table
    y: Array

    def take(self, rows: Rows) -> Table:
        return self.x.iloc[rows] if isinstance(self.x, pd.DataFrame) else self.x[rows]


def _check(estimator: FIREClassifier, carry: Carry, *, is_folds: bool) -> None:
    if is_folds and carry == "model":
        raise ModelError(
            "with folds, a network carried from fold to fold has been trained on the samples it is "
            "scored on; use carry='fisher'"
        )
    if estimator.form == "weigh" and estimator.preset is None and carry == "fisher":
        raise ModelError(
            "form='weigh' weighs fragments that are trained together, but with carry='fisher' "
            "every fragment trains a network of its own; use carry='model' (not with folds), "
            "another form, or preset='paper'"
        )


def _arrive(model: FIREClassifier, data: _Data, arrived: list[Piece], regime: Seen) -> None:
    """Train on the last fragment, or with `weigh` on all that have arrived."""
    piece = arrived[-1]
    x_val = None if regime == "none" else data.take(piece.validation)
    y_val = data.y[piece.validation] if regime == "labelled" else None
    if model.form == "weigh" and model.preset is None:
        rows = np.concatenate([each.train for each in arrived])
        names = np.repeat([each.name for each in arrived], [len(each.train) for each in arrived])
        model.fit(data.take(rows), data.y[rows], fragments=names, X_val=x_val, y_val=y_val)
        return
    classes = np.unique(data.y)
    x, labels = data.take(piece.train), data.y[piece.train]
    model.partial_fit(x, labels, classes, X_val=x_val, y_val=y_val)


def _scores(model: FIREClassifier, data: _Data, rows: Rows) -> dict[Metric, float]:
    y, probabilities = data.y[rows], model.predict_proba(data.take(rows))
    predicted, present = model.classes_[probabilities.argmax(1)], np.unique(y)
    return {
        "accuracy": float(accuracy_score(y, predicted)),
        # Over the classes that are there; scikit-learn's own warns where one is predicted only.
        "balanced_accuracy": float(np.mean([np.mean(predicted[y == c] == c) for c in present])),
        "log_loss": float(log_loss(y, probabilities, labels=model.classes_)),
    }
