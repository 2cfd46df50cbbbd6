from typing import NamedTuple

import numpy as np
import pytest

from firecv.charts import column_sheet, image_sheet
from firecv.errors import DataError


class Side(NamedTuple):
    name: str
    n_samples: int
    before: np.ndarray
    after: np.ndarray


RNG = np.random.default_rng(0)


def side(name, *shape, shift=0.0):
    x = RNG.random((30, *shape))
    return Side(name, 30, x, x + shift)


def test_images_stand_before_and_after_with_their_fragment():
    figure = image_sheet([side("a", 8, 8), side("b", 8, 8), side("validation", 8, 8)], "title")
    assert len(figure.axes) == 6 and figure.get_suptitle() == "title"
    assert figure.axes[0].get_title() == "before" and figure.axes[1].get_title() == "after"
    assert figure.axes[2].get_ylabel() == "b\n30 samples"
    strip = figure.axes[0].images[0].get_array()
    assert strip.shape == (8, 8 * 9 - 1)


def test_colour_images_stay_in_colour():
    sides = [side("a", 8, 8, 3), side("validation", 8, 8, 3)]
    assert image_sheet(sides, "").axes[0].images[0].get_array().shape[2] == 3


def test_of_many_fragments_the_first_ten_and_the_validation_set_are_drawn():
    sides = [side(str(i), 8, 8) for i in range(30)] + [side("validation", 8, 8)]
    labels = [axis.get_ylabel() for axis in image_sheet(sides, "").axes[::2]]
    assert len(labels) == 11 and labels[-1].startswith("validation")


def test_a_fragment_the_shift_emptied_is_said_so():
    empty = Side("a", 30, RNG.random((30, 8, 8)), np.zeros((0, 8, 8)))
    figure = image_sheet([empty, side("validation", 8, 8)], "")
    assert "no sample left" in [text.get_text() for text in figure.axes[1].texts]


def test_columns_that_differ_most_come_first():
    a = side("a", 9)
    far = Side("validation", 30, a.before, a.after + np.arange(9) * 0.5)
    figure = column_sheet([a, far], [f"c{i}" for i in range(9)], "title")
    assert [axis.get_ylabel() for axis in figure.axes[::2]] == [f"c{i}" for i in range(8, 2, -1)]


@pytest.mark.parametrize("sheet", [lambda s: image_sheet(s, ""), lambda s: column_sheet(s, [], "")])
def test_nothing_to_compare_is_an_error(sheet):
    with pytest.raises(DataError, match="nothing to compare"):
        sheet([side("a", 8, 8)])
