"""The demonstration on fewer epochs: what it compares, that it repeats, and what it writes."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from matplotlib.image import imread

from firecv import demo
from firecv.regimes import REGIMES


@pytest.fixture
def short(monkeypatch, tmp_path):
    """Make the demonstration short, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "TRAINING", replace(demo.TRAINING, n_epochs=1))
    monkeypatch.setattr(demo, "SEEDS", (0,))


def test_sets_are_disjoint_and_cover_the_digits():
    world = demo.world(0)
    sizes = [len(y) for _, y in (*world.fragments.values(), world.validation, world.test)]
    assert sum(sizes) == 1797 and sizes[-2:] == [demo.N_VALIDATION, demo.N_TEST]
    assert len(world.fragments) == demo.N_FRAGMENTS
    same = torch.equal(world.validation[0], demo.world(1).validation[0])
    assert not same


def test_every_regime_has_its_mandatory_control():
    assert demo.METHODS.keys() == REGIMES.keys()
    for regime, methods in demo.METHODS.items():
        assert any(name in demo.CONTROLS for name in methods), regime
    named = {name for methods in demo.METHODS.values() for name in methods}
    assert set(demo.CONTROLS) <= named
    for form in ("precondition", "trace", "quadratic", "align", "weigh"):
        assert any(form in name for name in named)


def test_the_oversampled_validation_set_is_half_of_all():
    world = demo.world(0)
    n_train, n_more = len(world.pooled()[1]), len(demo.oversampled(world)[1])
    assert abs(n_more - n_train) < demo.N_VALIDATION


def test_same_seed_same_numbers(short):
    names = ["precondition 0.1, labelled V", "trace 0.01, labelled V", "V pooled into training"]
    for name in names:
        method = demo.METHODS["labelled"][name]
        assert method(demo.world(0)) == method(demo.world(0))


def test_main_writes_a_picture_and_names_it(short, capsys):
    assert demo.main() == 0
    out = capsys.readouterr().out
    assert str(demo.PICTURE) in out
    for methods in demo.METHODS.values():
        assert all(name in out for name in methods)
    height, width, _ = (pixels := imread(demo.PICTURE)).shape
    assert height > 800 and width > 1000
    assert len(np.unique(pixels.reshape(-1, pixels.shape[2]), axis=0)) > 20


def test_folder_that_cannot_be_made_is_a_message_not_a_traceback(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    demo.PICTURE.parent.write_text("a file in the way")
    assert demo.main() == 1
    assert f"Cannot write {demo.PICTURE}" in capsys.readouterr().err


def test_missing_matplotlib_is_a_message_not_a_traceback(short, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setattr(demo, "METHODS", {"none": {demo.PLAIN: demo.plain}})
    assert demo.main() == 1
    assert "pip install 'firecv[report]'" in capsys.readouterr().err
