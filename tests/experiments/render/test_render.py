import time

import pytest

from firecv.experiments.render import FORMATS
from firecv.experiments.spec import Table
from firecv.experiments.summary import Published, summarise
from tests.experiments.made_tables import drawn, invented, small_table

PRINTED = {("heart", "FIRE"): Published(78.1, 5.9, "Table 2", "")}
SUMMARY = summarise(*small_table(), PRINTED)
PAPER = summarise(*small_table("paper"), PRINTED)
OPTIMISTIC = "The score is optimistic: the scored set is the validation set."


def large():
    cells = [invented(f"row {i}", f"method {j}") for i in range(250) for j in range(12)]
    measured = {cell: drawn(0.7, 0.1, 5, seed=i) for i, cell in enumerate(cells)}
    return summarise(Table("large", "Large", "clean", tuple(cells)), measured)


LARGE = large()


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "csv"])
def test_every_format_shows_numbers_notes_and_reasons(name):
    written = FORMATS[name](PAPER)
    for part in ["heart", "One-step", "78.5", "3/10", "1 diverged", "unlabelled", "not run yet"]:
        assert part in written
    assert OPTIMISTIC in written and OPTIMISTIC not in FORMATS[name](SUMMARY)


@pytest.mark.parametrize("name", FORMATS)
def test_three_thousand_cells_take_less_than_two_seconds(name):
    start = time.process_time()
    written = FORMATS[name](LARGE)
    assert time.process_time() - start < 2
    assert written.count("row ") >= 250
