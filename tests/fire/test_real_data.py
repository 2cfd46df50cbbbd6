"""What earlier trials found, at small scale on real data: rotated Fashion-MNIST, labelled V."""

import os

import numpy as np
import pytest
import torch

from firecv.data import datasets
from firecv.data.encode import channels_first
from firecv.data.shifts import Rotation, rotation
from firecv.fire import Fire
from firecv.models import Task
from firecv.models.mlp import mlp
from firecv.seeding import derive, derive_torch
from firecv.training import Training, train

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.environ.get("FIRECV_DATA"), reason="FIRECV_DATA is not set: no Fashion-MNIST"
    ),
]
N_TRAIN, N_VALIDATION, N_TEST = 3000, 600, 2000
TRAINING = Training(n_epochs=15)
SEEDS = (0, 1, 2)


@pytest.fixture(scope="module")
def accuracies():
    if not datasets.is_here("fashion_mnist"):
        pytest.skip("fashion_mnist is not at hand")
    split = datasets.load("fashion_mnist")
    assert split.test is not None
    return {seed: compare(split, seed) for seed in SEEDS}


def part(arrays, rows, seed, role):
    found = rotation(
        arrays.x[rows], arrays.y[rows], derive(seed, "shift", role), role, Rotation(2, 5)
    )
    return torch.from_numpy(channels_first(found.x)), torch.from_numpy(found.y)


def compare(split, seed):
    rows = derive(seed, "rows").permutation(len(split.train))[: N_TRAIN + N_VALIDATION]
    data = part(split.train, rows[:N_TRAIN], seed, "train")
    validation = part(split.train, rows[N_TRAIN:], seed, "target")
    test = part(split.test, np.arange(N_TEST), seed, "target")
    pooled = tuple(torch.cat(pair) for pair in zip(data, validation, strict=True))

    def accuracy(data, **fire_settings):
        task = Task(mlp((1, 28, 28), (128, 64), 10, derive_torch(seed, "weights")))
        backward = None
        if fire_settings:
            fire = Fire(
                task.model, validation=validation, validation_batch=32, seed=seed, **fire_settings
            )
            backward = fire.backward
        train(task, data, TRAINING, derive_torch(seed, "order"), backward=backward)
        with torch.no_grad():
            return (task.scores(test[0]).argmax(1) == test[1]).double().mean().item()

    return {
        "plain": accuracy(data),
        "precondition": accuracy(data, form="precondition", strength=0.1),
        "trace": accuracy(data, form="trace", strength=0.003),
        "align": accuracy(data, form="align", strength=1.0),
        "pooled": accuracy(pooled),
    }


def gains(accuracies, method):
    return [100 * (found[method] - found["plain"]) for found in accuracies.values()]


def test_precondition_at_the_papers_strength_is_plain_training(accuracies):
    assert np.abs(gains(accuracies, "precondition")).max() < 2.0
    assert abs(np.mean(gains(accuracies, "precondition"))) < 1.0


@pytest.mark.parametrize("form", ["trace", "align"])
def test_penalties_that_use_labels_of_v_gain(accuracies, form):
    assert min(gains(accuracies, form)) > 0
    assert np.mean(gains(accuracies, form)) > 2


def test_so_does_training_on_those_labels(accuracies):
    assert np.mean(gains(accuracies, "pooled")) > 2
