"""The demonstration on fewer epochs: what it finds, that it repeats, and what it writes."""

import sys

import numpy as np
import pytest
import torch
from matplotlib.image import imread

from firecv import demo
from firecv.fisher import Diagonal
from firecv.models import Task, cnn
from firecv.seeding import derive, derive_torch

N_EPOCHS = 4
UNSHIFTED = [name for name, shift in demo.FRAGMENTS.items() if shift == demo.Shift()]
SHIFTED = [name for name in demo.FRAGMENTS if name not in UNSHIFTED]


def run(seed):
    sets = demo.digits(seed)
    task = demo.train([sets[name] for name in demo.FRAGMENTS], seed, N_EPOCHS)
    return demo.compare(task, sets, seed)


@pytest.fixture(scope="module")
def outcome():
    return run(seed=0)


def test_shifted_fragments_lie_farther_than_unshifted_ones(outcome):
    found, _ = outcome
    assert UNSHIFTED and SHIFTED
    far = min(found[name].distance for name in SHIFTED)
    assert far > 2 * max(found[name].distance for name in UNSHIFTED)


def test_the_yardstick_tells_which_fragments_are_shifted(outcome):
    found, halves = outcome
    limit = float(np.quantile(halves, 0.95))
    report = demo.report(found, halves, limit)
    assert f"than that: {'; '.join(SHIFTED)}.\n" in report
    assert report.endswith(f"{'; '.join(UNSHIFTED)}.")


def test_same_seed_same_numbers(outcome):
    found, halves = outcome
    again, halves_again = run(seed=0)
    assert halves_again == pytest.approx(halves, rel=1e-4)
    for name, row in found.items():
        assert again[name].information == pytest.approx(row.information, rel=1e-4)
        assert again[name].distances == pytest.approx(row.distances, rel=1e-4)


def test_another_seed_deals_out_other_images():
    x, other = (demo.digits(seed)[demo.VALIDATION][0] for seed in (0, 1))
    assert not torch.equal(x, other)


def test_sets_share_out_all_digits_with_even_classes():
    sets = demo.digits(0)
    counts = torch.stack([y.bincount(minlength=10) for _, y in sets.values()])
    assert counts.sum() == 1797
    assert len(sets[demo.VALIDATION][0]) == 360
    shares = counts / counts.sum(1, keepdim=True)
    assert (shares - shares.mean(0)).abs().max() < 0.01


def test_no_shift_is_the_identity():
    x = derive(0, "images").random((3, 1, 8, 8))
    np.testing.assert_array_equal(demo.Shift()(x, derive(0, "unused")), x)


@pytest.mark.parametrize("name", SHIFTED)
def test_shifts_change_images_and_stay_in_range(name):
    x = derive(0, "images").random((3, 1, 8, 8))
    shifted = demo.FRAGMENTS[name](x, derive(0, "shift"))
    assert shifted.shape == x.shape
    assert np.abs(shifted - x).max() > 0.1
    assert shifted.min() >= 0 and shifted.max() <= 1


def test_distance_by_hand():
    model = cnn((1, 8, 8), 10, derive_torch(0, "weights"))
    zeros = Diagonal.zeros({n: p.detach() for n, p in Task(model).parameters().items()}).entries
    a = Diagonal(zeros | {"0.bias": torch.full((32,), 4.0)})
    b = Diagonal(zeros | {"0.bias": torch.full((32,), 1.0), "11.bias": torch.full((10,), 3.2)})
    found = demo.distances(a, b)
    assert found["convolution 1"] == pytest.approx(32 / (128 + 64))  # (2 - 1)^2 for each of 32
    assert found["output"] == pytest.approx(32 / (128 + 64))  # 3.2 for each of 10
    assert sum(found.values()) == pytest.approx(64 / (128 + 64))


def test_layers_are_those_of_the_network():
    children = dict(cnn((1, 8, 8), 10, derive_torch(0, "weights")).named_children())
    kinds = {label: type(children[name]).__name__ for name, label in demo.LAYERS.items()}
    assert set(demo.LAYERS) == {name for name, c in children.items() if list(c.parameters())}
    assert [kind for label, kind in kinds.items() if "convolution" in label] == ["Conv2d"] * 2
    assert [kind for label, kind in kinds.items() if "convolution" not in label] == ["Linear"] * 3


def test_main_writes_a_picture_and_names_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "N_EPOCHS", 1)
    assert demo.main() == 0
    assert str(demo.PICTURE) in capsys.readouterr().out
    assert demo.PICTURE.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    height, width, _ = (pixels := imread(demo.PICTURE)).shape
    assert height > 500 and width > 1000
    assert len(np.unique(pixels.reshape(-1, pixels.shape[2]), axis=0)) > 20


def test_folder_that_cannot_be_made_is_a_message_not_a_traceback(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    demo.PICTURE.parent.write_text("a file in the way")
    assert demo.main() == 1
    assert f"Cannot write {demo.PICTURE}" in capsys.readouterr().err


def test_missing_matplotlib_is_a_message_not_a_traceback(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "N_EPOCHS", 1)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert demo.main() == 1
    assert "pip install 'firecv[report]'" in capsys.readouterr().err
