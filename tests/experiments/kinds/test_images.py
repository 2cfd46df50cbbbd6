"""What the kinds on images share: inputs, methods by name, scores."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from firecv.data import Arrays
from firecv.errors import DataError, FirecvNotice, NumericalError
from firecv.estimators import METHODS, FIREClassifier
from firecv.estimators.methods import FIRE_FORMS
from firecv.experiments.kinds.images import (
    WITH_STRENGTH,
    Labelled,
    check_method,
    classifier,
    image_shape,
    inputs,
    scored,
    shown,
)
from firecv.models.scores import SCORES
from firecv.rivals import RIVALS

ROWS = np.random.default_rng(0).random((40, 64)).astype(np.float32)
DIGITS = Labelled(ROWS, np.arange(40) % 4)


def build(method, strength=None, network="mlp", n_epochs=1):
    return classifier(method, strength, network=network, shape=(1, 8, 8), n_epochs=n_epochs, seed=0)


@pytest.mark.parametrize("channels", [(), (1,), (3,)])
def test_rows_are_what_a_convolution_takes_apart_again(channels):
    images = np.random.default_rng(0).integers(0, 256, (5, 4, 6, *channels), np.uint8)
    shape = image_shape(Arrays(images, np.zeros(5, np.int64), ("a",)))
    back = inputs(images).reshape(5, *shape)
    assert shape == (channels[0] if channels else 1, 4, 6)
    for channel in range(shape[0]):
        expected = images[..., channel] if channels else images
        assert np.allclose(back[:, channel], expected / 255, atol=1e-7)
    assert back.dtype == np.float32


def test_float_images_keep_their_values():
    images = np.random.default_rng(0).random((2, 3, 3))
    assert np.array_equal(inputs(images), images.reshape(2, 9).astype(np.float32))


@pytest.mark.parametrize("method", [*FIRE_FORMS, *RIVALS])
def test_every_method_is_given_just_what_it_can_use(method):
    listed = METHODS[method]
    for regime in ("none", "unlabelled", "labelled"):
        if method == "fire-align":
            is_right = regime != "none"
        elif method.startswith("fire"):
            is_right = True
        else:
            is_right = regime == listed.regime
        if is_right:
            check_method(method, regime, None)
        else:
            with pytest.raises(DataError, match="regime"):
                check_method(method, regime, None)


@pytest.mark.parametrize(
    ("method", "regime", "strength", "words"),
    [
        ("ermm", "none", None, "no network is trained by 'ermm'"),
        ("erm", "none", 1.0, "no strength"),
        ("fire-align", "summary", None, "'summary'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(method, regime, strength, words):
    with pytest.raises(DataError, match=words):
        check_method(method, regime, strength)


@pytest.mark.parametrize("method", [*WITH_STRENGTH, "fire-trace", "fire"])
def test_strength_reaches_the_method(method):
    model = build(method, 0.25)
    found = model if isinstance(model, FIREClassifier) else model.method
    name = {"l2": "decays", "eiwerm": "gamma"}.get(method, "strength")
    assert getattr(found, name) in (0.25, (0.25,))


def test_the_paper_has_a_fisher_of_low_rank_and_other_forms_a_diagonal_one():
    assert build("fire-paper").structure == "lowrank"
    assert build("fire-trace").structure == "diagonal"


@pytest.mark.parametrize("network", ["mlp", "cnn"])
def test_networks_train_as_stated(network):
    model = build("erm", network=network)
    model.fit(DIGITS.x, DIGITS.y)
    assert (model.rate, model.batch_size, model.optimiser) == (1e-3, 128, "adam")
    assert model.hidden == (128, 64)
    assert any("Conv" in type(m).__name__ for m in model.network_.modules()) == (network == "cnn")


def test_a_regime_shows_no_more_than_its_name_says():
    assert shown(DIGITS, "none") == (None, None)
    x, y = shown(DIGITS, "unlabelled")
    assert x is DIGITS.x and y is None
    assert shown(DIGITS, "labelled") == (DIGITS.x, DIGITS.y)


def test_classes_never_seen_have_no_probability():
    def train():
        warnings_are_hidden()
        return build("erm").fit(DIGITS.x[DIGITS.y < 3], DIGITS.y[DIGITS.y < 3])

    def warnings_are_hidden():
        import warnings

        warnings.warn("heavy weights", FirecvNotice, stacklevel=1)

    found = scored(train, DIGITS, 4)
    assert tuple(found) == SCORES
    assert found["accuracy"] <= 0.75 and found["log_loss"] > 100


def test_scores_belong_to_the_samples_given():
    always = SimpleNamespace(
        classes_=np.arange(4), predict_proba=lambda x: np.tile([0.7, 0.1, 0.1, 0.1], (len(x), 1))
    )
    assert scored(lambda: always, Labelled(ROWS[:4], np.array([0, 0, 0, 1])), 4)["accuracy"] == 0.75


def test_a_training_that_diverges_gives_nan():
    def train():
        raise NumericalError("the loss became nan")

    found = scored(train, DIGITS, 4)
    assert tuple(found) == SCORES and all(map(math.isnan, found.values()))


def test_other_faults_are_not_hidden():
    def train():
        raise DataError("no")

    with pytest.raises(DataError):
        scored(train, DIGITS, 4)
