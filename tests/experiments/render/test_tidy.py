import io

import pandas as pd
import pytest

from firecv.experiments.render.tidy import csv, tidy
from firecv.experiments.summary import Published, summarise
from tests.experiments.made_tables import small_table

PRINTED = {("heart", "FIRE"): Published(78.1, 5.9, "Table 2", "")}
SUMMARY = summarise(*small_table(), PRINTED)


def test_the_frame_has_a_line_for_every_cell_and_every_number():
    frame = tidy(SUMMARY).set_index(["row", "column"])
    assert len(frame) == 8
    fire = frame.loc[("heart", "FIRE")]
    assert fire["mean"] == pytest.approx(78.45) and fire["difference"] == pytest.approx(0.35)
    assert fire["points"] == pytest.approx(4.45) and fire["n_pairs"] == 10
    assert fire["differs"] and fire["is_best"] and fire["beyond_noise"]
    blank = frame.loc[("sonar_1", "One-step")]
    assert pd.isna(blank["mean"]) and blank["why_blank"] == "sonar_1 is not at hand"


def test_csv_reads_back_as_the_frame():
    read = pd.read_csv(io.StringIO(csv(SUMMARY)))
    frame = tidy(SUMMARY)
    assert list(read.columns) == list(frame.columns)
    assert read["mean"].tolist() == pytest.approx(frame["mean"].tolist(), nan_ok=True)
