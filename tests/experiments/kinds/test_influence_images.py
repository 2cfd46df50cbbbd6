"""Every column of the table of rotated images in fragments, on small digits."""

from dataclasses import replace
from functools import partial
from typing import get_args

import numpy as np
import pytest

from firecv.errors import DataError
from firecv.experiments.kinds import influence_image_fits as fits
from firecv.experiments.kinds.influence_images import WITHOUT_V, InfluenceImages, Method
from firecv.experiments.study.influence_images import COLUMNS, SIZES, table

SMALL = InfluenceImages("digits", 2, 6, "pooled", 60, n_train=600, n_test=400, n_epochs=12)


@pytest.fixture(scope="module")
def problem():
    return fits.drawn_problem("digits", (2, 6), (600, 60, 400), 5, 9000)


@pytest.mark.parametrize("method", get_args(Method))
def test_every_method_is_measured(method):
    setting = replace(SMALL, method=method, n_validation=None if method in WITHOUT_V else 60)
    found = setting.measure([9000])
    assert found["seed"] == [9000]
    assert found["accuracy"][0] > (0.2 if method in ("half", "alone", "fire") else 0.05)


def test_fragments_are_cut_by_angle(problem):
    assert np.bincount(problem.fragments).tolist() == [120] * 5
    near = [problem.train.x[problem.fragments == k] for k in (0, 4)]
    assert not np.allclose(near[0].mean(0), near[1].mean(0), atol=0.1)


def test_a_share_is_v_part_of_the_loss_and_the_share_of_images_is_pooling(problem):
    weight = problem.shared(0.5)
    assert weight[600:].sum() == pytest.approx(weight[:600].sum())
    np.testing.assert_allclose(problem.shared(60 / 660), 1.0)
    build = partial(fits._network, problem, seed=9000, n_epochs=4)
    pooled = fits.fitted("pooled", problem, 4, 9000).predict_proba(problem.test.x)
    weighted = build("erm").fit(*problem.both(), sample_weight=problem.shared(60 / 660))
    np.testing.assert_allclose(weighted.predict_proba(problem.test.x), pooled, atol=1e-5)


def test_the_share_is_large_where_only_v_is_right(problem):
    wrong = (problem.train.y + 1) % 10
    turned = problem._replace(train=problem.train._replace(y=wrong))
    build = partial(fits._network, problem, seed=9000, n_epochs=10)
    assert fits._share(turned, build, 9000) == 0.5


def test_training_images_do_not_depend_on_the_size_of_v(problem):
    other = fits.drawn_problem("digits", (2, 6), (600, 1, 400), 5, 9000)
    np.testing.assert_array_equal(other.train.x, problem.train.x)


def test_methods_without_v_are_run_once_for_all_its_sizes():
    cells = [cell for cell in table("clean").cells if cell.column == "ERM"]
    assert len(cells) == 6 * len(SIZES) and len({cell.setting for cell in cells}) == 6
    for cell in table("clean").cells:
        assert cell.setting is None or cell.setting.check() is None
    assert {cell.column for cell in table("paper").cells} == set(COLUMNS)


@pytest.mark.parametrize("changed", [{"method": "x"}, {"n_validation": None}, {"method": "erm"}])
def test_what_makes_no_sense_is_refused(changed):
    with pytest.raises(DataError, match="expected"):
        replace(SMALL, **changed).check()
