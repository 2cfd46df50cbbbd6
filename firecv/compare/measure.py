"""One method at one seed: trained, scored, or failed for a reason."""

import hashlib
import json
import math
import warnings
from dataclasses import asdict, dataclass
from importlib.metadata import version

import numpy as np

from firecv.compare.entries import Entry
from firecv.compare.prepare import Prepared, Protocol
from firecv.compare.settings import Settings
from firecv.errors import FirecvError, FirecvNotice
from firecv.estimators import make_classifier
from firecv.models.scores import scores
from firecv.stacked.threads import one_thread

RECIPE = 1
"""Raised whenever the same cell comes to mean something else, so that old results do not count."""


@dataclass(frozen=True)
class Cell:
    """One training to do.

    Attributes
    ----------
    entry
        The method and what it sees.
    seed
        Of the split, the initial weights and all else that is drawn; the same for all methods.
    protocol, settings
        As for `firecv.compare.compare`.
    """

    entry: Entry
    seed: int
    protocol: Protocol
    settings: Settings

    def id(self, checksum: str) -> str:
        """Return its name, which depends on all that its scores depend on."""
        facts = [RECIPE, version("firecv"), checksum, asdict(self)]
        text = json.dumps(facts, sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


@dataclass(frozen=True)
class Measured:
    """What came of a training.

    Attributes
    ----------
    scores
        By name, as `firecv.models.scores.scores` gives them; empty if it failed.
    failed
        Why it failed, or "".
    lasts
        Whether the same would come of it again; not so for a fault of the machine's.
    notices
        What the method had to say.
    """

    scores: dict[str, float]
    failed: str = ""
    lasts: bool = True
    notices: tuple[str, ...] = ()


def measure(cell: Cell, prepared: Prepared) -> Measured:
    """Return the scores of a method on rows that it has not seen; failures do not rise.

    Parameters
    ----------
    cell
        What to do.
    prepared
        The data.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FirecvNotice)
        found = _tried(cell, prepared)
    for other in caught:
        if not issubclass(other.category, FirecvNotice):
            warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
    said = dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, FirecvNotice))
    return Measured(found.scores, found.failed, found.lasts, tuple(said))


def _tried(cell: Cell, prepared: Prepared) -> Measured:
    try:
        with one_thread():
            found = _scored(cell, prepared)
    except FirecvError as error:
        return Measured({}, str(error))
    except Exception as error:  # must not cost the other methods
        return Measured({}, f"{type(error).__name__}: {error}", lasts=False)
    if not math.isfinite(found["log_loss"]):
        return Measured({}, "its predictions became NaN or infinite")
    return Measured(found)


def _scored(cell: Cell, prepared: Prepared) -> dict[str, float]:
    settings, regime = cell.settings, cell.entry.regime
    seen, scored = prepared.rows(cell.seed, cell.protocol)
    model = make_classifier(
        cell.entry.method,
        hidden=settings.hidden,
        image_shape=prepared.image_shape,
        rate=settings.rate,
        batch_size=settings.batch_size,
        n_epochs=settings.n_epochs,
        random_state=cell.seed,
    )
    model.fit(
        prepared.x,
        prepared.y,
        fragments=prepared.fragments,
        X_val=None if regime == "none" else prepared.held_x[seen],
        y_val=prepared.held_y[seen] if regime == "labelled" else None,
    )
    labels = np.searchsorted(model.classes_, prepared.held_y[scored])
    return scores(model.predict_proba(prepared.held_x[scored]), labels)
