import json
import math

import numpy as np
import pandas as pd
import pytest

from firecv.diagnose import diagnose
from firecv.diagnose.plain import records


def test_what_json_does_not_have_becomes_null():
    table = pd.DataFrame(
        {"a": [1.5, math.nan, -math.inf], "b": [True, False, True], "n": [1, 2, 3]}
    )
    assert json.loads(json.dumps(records(table), allow_nan=False)) == [
        {"a": 1.5, "b": True, "n": 1},
        {"a": None, "b": False, "n": 2},
        {"a": None, "b": True, "n": 3},
    ]


def test_a_cell_of_another_kind_is_an_error():
    with pytest.raises(TypeError, match="Timestamp"):
        records(pd.DataFrame({"a": [pd.Timestamp("2024-01-31")]}))


def test_a_diagnosis_of_nothing_but_small_fragments_is_plain_too():
    found = diagnose({"A": np.zeros((3, 2))}, np.zeros((12, 2)))
    plain = json.loads(json.dumps(found.plain("made"), allow_nan=False))
    assert plain["data"]["source"] == "made" and plain["features"] == plain["pairs"] == []
    assert plain["fragments"][0]["auc"] is None and plain["whole"]["p_value"] is None
