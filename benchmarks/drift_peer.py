"""Data drift by evidently, run in the environment that has it.

Started by ``diagnose.py`` with the other environment's Python: the data, the validation data and
"fragments" or "whole". Makes one report of the data-drift preset for each fragment, or one for all
rows, and prints as JSON the columns in which it finds drift. Nothing of firecv is imported.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import pandas as pd
from evidently import Report
from evidently.presets import DataDriftPreset


def drifted(rows: pd.DataFrame, held: pd.DataFrame) -> list[str]:
    """Return the columns in which the preset finds drift."""
    found = Report([DataDriftPreset()]).run(rows, held).dict()
    values = [each for each in found["metrics"] if each["config"]["type"].endswith("ValueDrift")]
    return [each["config"]["column"] for each in values if is_drift(each)]


def is_drift(metric: dict[str, Any]) -> bool:
    """Return whether a p-value is below its threshold, or a distance not below it."""
    method, threshold = metric["config"]["method"], metric["config"]["threshold"]
    return (metric["value"] < threshold) == ("p_value" in method)


def main(data: str, validation: str, how: str) -> None:
    """Read both files, report and print."""
    frame, held = pd.read_csv(data), pd.read_csv(validation)
    apart, features = ["site", "label"], [c for c in held if c not in ("site", "label")]
    parts = {"whole": frame} if how == "whole" else dict(list(frame.groupby(apart[0])))
    print(
        json.dumps({str(k): drifted(part[features], held[features]) for k, part in parts.items()})
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
