"""A trained model: the encoder of a table, a fitted estimator, and what is known of both."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from firecv.data.arrays import Array
from firecv.data.table_files import Columns
from firecv.display import table
from firecv.errors import DataError
from firecv.estimators import METHODS
from firecv.estimators.storage import damage_named
from firecv.regimes import WORDS, Regime
from firecv.trained.encoding import Encoding, Numeric
from firecv.trained.folder import Estimator, read_folder, write_folder
from firecv.trained.tables import admitted

CHUNK = 1 << 16
"""Rows encoded at a time; a multiple of the batches that networks predict in."""


@dataclass(frozen=True)
class Facts:
    """What is known of a trained model.

    Attributes
    ----------
    method
        Its key in `firecv.METHODS`, or "federated" and the key of the algorithm.
    regime
        What it has seen of the validation set V.
    target
        Name of the column it predicts; None if it was not said.
    classes
        What it predicts, in the order of the columns of `Trained.predict_proba`.
    tags
        Columns beside inputs and target that its table had: fragment and time.
    seed
        Of all that was drawn at random.
    sizes
        Training samples of each fragment.
    n_validation
        Samples of V; 0 without one.
    accuracy
        Share of V that it gets right; None without V or its labels.
    package
        Version of the package that trained it.
    """

    method: str
    regime: Regime
    target: str | None
    classes: tuple[str, ...]
    tags: tuple[str, ...]
    seed: int
    sizes: dict[str, int]
    n_validation: int
    accuracy: float | None
    package: str


@dataclass(frozen=True)
class Trained:
    """A model that `firecv.trained.train` trained or `load_trained` read.

    Attributes
    ----------
    encoding
        Turns a table into what the estimator takes.
    estimator
        The fitted estimator; its classes are places in `facts.classes`.
    facts
        What is known of it.
    """

    encoding: Encoding
    estimator: Estimator
    facts: Facts

    def predict_proba(self, table: Columns | Array) -> NDArray[np.float64]:
        """Return the probability of each class, of shape (n_samples, n_classes).

        Parameters
        ----------
        table
            A data frame or arrays by name, with the columns of the training table in any order; or
            a matrix if that was one.
        """
        return np.concatenate(list(self.chunks(table)))

    def predict(self, table: Columns | Array) -> NDArray[Any]:
        """Return the name of the most probable class of each row.

        Parameters
        ----------
        table
            As for `predict_proba`.
        """
        return np.array(self.facts.classes)[self.predict_proba(table).argmax(1)]

    def chunks(
        self, table: Columns | Array, what: str = "the table"
    ) -> Iterator[NDArray[np.float64]]:
        """Return an iterator over the probabilities of some rows after others, for large tables.

        Parameters
        ----------
        table
            As for `predict_proba`; it is checked at once.
        what
            What to call it in messages.
        """
        others = {*self.facts.tags, *([] if self.facts.target is None else [self.facts.target])}
        frame = admitted(table, self.encoding, others, what)
        starts = range(0, len(frame), CHUNK)
        return (self._probabilities(frame.iloc[start : start + CHUNK]) for start in starts)

    def save(self, folder: str | Path) -> None:
        """Write the model to a folder, without pickle; `load_trained` reads it.

        Parameters
        ----------
        folder
            Made if there is none; a model in it is replaced.
        """
        facts = {"facts": asdict(self.facts), "encoding": self.encoding.plain()}
        write_folder(folder, facts, self.estimator)

    def fragments(self) -> pd.DataFrame:
        """Return one row per fragment: its samples and, if the method weighs it, its weight."""
        rows = pd.DataFrame(self.facts.sizes.items(), columns=["fragment", "n_rows"])
        weights = self.fragment_weights
        if weights is None:
            return rows
        return rows.assign(weight=[weights[name] for name in self.facts.sizes])

    @property
    def fragment_weights(self) -> dict[str, float] | None:
        """The weight of each fragment in training; None if the method weighs no fragments."""
        weights = self.estimator.weights_
        return weights if isinstance(weights, dict) else None

    @property
    def validation_weight(self) -> float:
        """The weight of V's own rows in training; 0 if they were not trained on, or not weighed."""
        return float(getattr(self.estimator, "validation_weight_", 0.0))

    def plain(self) -> dict[str, object]:
        """Return what there is to say as JSON has it."""
        test = getattr(self.estimator, "shift_test_", None)
        return {
            **asdict(self.facts),
            "kind": "trained",
            "version": 1,
            "columns": self.encoding.kinds(),
            "weights": self.fragment_weights,
            "validation_weight": self.validation_weight,
            "shift_test": None if test is None else test._asdict(),
            "is_optimistic": self.is_optimistic,
        }

    @property
    def is_optimistic(self) -> bool:
        """Whether the accuracy on V is of labels that the method has seen."""
        return self.facts.accuracy is not None and "labelled" in self.facts.regime.split("_")

    def __str__(self) -> str:
        """Return method, regime, fragments, shift test and accuracy in sentences."""
        facts, test = self.facts, getattr(self.estimator, "shift_test_", None)
        lines = [
            f"Method: {label_of(facts.method)}, which has seen {WORDS[facts.regime]} (regime "
            f"{facts.regime!r}).",
            f"Trained on {sum(facts.sizes.values())} rows of {len(facts.sizes)} fragments, "
            f"{len(self.encoding.columns)} columns, {len(facts.classes)} classes.",
            "",
            self._weighed(),
            "",
        ]
        if self.validation_weight:
            lines.append(
                f"Weights are by influence on the validation set, whose own rows have weight "
                f"{self.validation_weight:.3f}."
            )
        if test is not None:
            verdict = "differs from" if test.rejects else "does not show a difference from"
            lines.append(
                f"Shift test: the validation set {verdict} the pooled fragments "
                f"(p = {test.p_value:.2g})."
            )
        return "\n".join([*lines, self._judged()])

    def _weighed(self) -> str:
        """Return the table of fragments as text."""
        weights = self.fragment_weights
        columns = {
            "fragment": list(self.facts.sizes),
            "n_rows": [str(n) for n in self.facts.sizes.values()],
        }
        if weights is not None:
            columns["weight"] = [f"{weights[name]:.3f}" for name in self.facts.sizes]
        return table(columns)

    def _judged(self) -> str:
        """Return what is known of how good the model is."""
        if self.facts.accuracy is None:
            return "Accuracy on the validation set is not known: there are no labels to judge by."
        said = (
            f"Accuracy on the validation set: {100 * self.facts.accuracy:.1f} % of "
            f"{self.facts.n_validation} rows."
        )
        if self.is_optimistic:
            return f"{said} This is optimistic, since its labels were seen in training."
        return said

    def _probabilities(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        return self.estimator.predict_proba(self.encoding(frame))


def label_of(method: str) -> str:
    """Return the name of a method in words.

    Examples
    --------
    >>> label_of("erm"), label_of("federated fire")
    ('ERM', 'federated fire')
    """
    return METHODS[method].label if method in METHODS else method


def load_trained(folder: str | Path) -> Trained:
    """Return the model that `Trained.save` wrote; its predictions are the same, bit for bit.

    Parameters
    ----------
    folder
        The folder.
    """
    with damage_named(folder):
        plain, estimator = read_folder(folder)
        model = Trained(Encoding.of_plain(plain["encoding"]), estimator, _facts(plain["facts"]))
        _try(model)
        return model


def _facts(plain: Mapping[str, Any]) -> Facts:
    """Return facts as they are in JSON, having checked their types."""
    given: dict[str, Any] = dict(plain)
    for name in ("classes", "tags"):
        given[name] = tuple(plain[name])
    facts = Facts(**given)
    named = [] if facts.target is None else [facts.target]
    texts: list[object] = [facts.package, *facts.classes, *facts.tags, *facts.sizes, *named]
    counts: list[object] = [facts.seed, facts.n_validation, *facts.sizes.values()]
    if not (
        all(isinstance(one, str) for one in texts)
        and all(isinstance(one, int) for one in counts)
        and (facts.accuracy is None or 0 <= facts.accuracy <= 1)
    ):
        raise DataError("its facts are not of the types that they must have")
    return facts


def _try(model: Trained) -> None:
    """Describe a model and predict a row, which raises an error if its parts do not fit."""
    str(model)
    row = {
        one.name: pd.Series([np.nan])
        if isinstance(one, Numeric)
        else pd.Series(pd.Categorical([None], categories=pd.Index([], dtype="str")))
        for one in model.encoding.columns
    }
    n_found = model.predict_proba(pd.DataFrame(row)).shape[1]
    if n_found != len(model.facts.classes):
        raise DataError(f"it predicts {n_found} classes and names {len(model.facts.classes)}")
