"""What measurements say: scores by method and seed, put together as a `Comparison`."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version

import numpy as np
import pandas as pd

from firecv.compare.comparison import Comparison, Metric, Plain
from firecv.compare.entries import Entry
from firecv.compare.measure import Cell, Measured
from firecv.compare.prepare import Prepared, Protocol
from firecv.compare.settings import Settings
from firecv.compare.summary import find_winners, summary_table
from firecv.compare.words import remarks, winner_said
from firecv.data.arrays import Fragmented
from firecv.errors import DataError
from firecv.models.scores import SCORES


def conclude(
    data: Fragmented,
    prepared: Prepared,
    measured: Mapping[Cell, Measured],
    left_out: Sequence[Entry],
    protocol: Protocol,
    metric: Metric,
) -> Comparison:
    """Return what measurements say.

    Parameters
    ----------
    data, prepared
        What was given, and what methods saw of it.
    measured
        What came of every training.
    left_out
        Methods that need labels of V that they may not see.
    protocol, metric
        As for `firecv.compare.compare`.
    """
    entries = list(dict.fromkeys(cell.entry for cell in measured))
    values = {entry: _by_seed(measured, entry, metric) for entry in entries}
    if not any(values.values()):
        raise DataError(_nothing(measured, metric))
    seeds = sorted({cell.seed for cell in measured})
    halves = [prepared.rows(seed, protocol) for seed in seeds]
    overlap = 0.0
    if protocol == "clean":
        overlap = float(np.mean([len(scored) / len(seen) for seen, scored in halves]))
    table = summary_table(values, overlap)
    winners = [
        (w, winner_said(w, entries, table, metric)) for w in find_winners(values, metric, overlap)
    ]
    rows = [
        {"regime": w.regime, "method": w.best.name if w.is_clear else None, "said": said}
        for w, said in winners
    ]
    said = [said for _, said in winners]
    said += remarks(prepared, measured, left_out, protocol)
    settings = next(iter(measured)).settings
    return Comparison(
        _score_table(measured),
        table,
        pd.DataFrame(rows, columns=["regime", "method", "said"]),
        _failed_table(measured),
        tuple(said),
        metric,
        _settings_told(prepared, settings, seeds, protocol, overlap),
        _data_told(data),
    )


def _by_seed(measured: Mapping[Cell, Measured], entry: Entry, metric: str) -> dict[int, float]:
    """Return the finite scores of a method."""
    found = {c.seed: m.scores[metric] for c, m in measured.items() if c.entry == entry and m.scores}
    return {seed: value for seed, value in found.items() if np.isfinite(value)}


def _nothing(measured: Mapping[Cell, Measured], metric: str) -> str:
    """Return why there is nothing to compare."""
    reasons = list(dict.fromkeys(found.failed for found in measured.values() if found.failed))
    if not any(found.scores for found in measured.values()):
        return f"every method failed: {'; '.join(reasons[:3])}"
    return (
        f"{metric} cannot be computed on any half of the validation set, which needs two classes "
        f"for it; choose another metric, or a validation set with more rows"
    )


def _score_table(measured: Mapping[Cell, Measured]) -> pd.DataFrame:
    rows = [
        {**_place(cell), **{name: found.scores[name] for name in SCORES}}
        for cell, found in measured.items()
        if found.scores
    ]
    return pd.DataFrame(rows)


def _failed_table(measured: Mapping[Cell, Measured]) -> pd.DataFrame:
    rows = [{**_place(c), "reason": found.failed} for c, found in measured.items() if found.failed]
    return pd.DataFrame(rows, columns=["method", "label", "regime", "seed", "reason"])


def _place(cell: Cell) -> dict[str, str | int]:
    entry = cell.entry
    return {"method": entry.name, "label": entry.label, "regime": entry.regime, "seed": cell.seed}


def _settings_told(
    prepared: Prepared, settings: Settings, seeds: Sequence[int], protocol: str, overlap: float
) -> Plain:
    return {
        **asdict(settings),
        "hidden": list(settings.hidden),
        "seeds": list(seeds),
        "protocol": protocol,
        "overlap": overlap,
        "n_trained_on": len(prepared.y),
        "n_validation": len(prepared.held_y),
        "image_shape": None if prepared.image_shape is None else list(prepared.image_shape),
        "version": version("firecv"),
    }


def _data_told(data: Fragmented) -> Plain:
    held = data.validation
    assert held is not None
    columns = [str(name) for name in held.x.columns] if isinstance(held.x, pd.DataFrame) else []
    return {
        "fragments": {name: len(part) for name, part in data.fragments.items()},
        "n_validation": len(held),
        "features": columns,
    }
