"""After the full 1500 epochs the accuracies are those of models trained alone."""

import os

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from firecv.data import load
from firecv.data.encode import encode_parts
from firecv.models import table_mlp
from firecv.seeding import derive, derive_torch
from firecv.stacked import (
    Stack,
    StackSettings,
    initial_weights,
    predict_stack,
    standardise,
    train_stack,
)

N_MODELS = 12


def accuracies(stack: Stack, settings: StackSettings) -> np.ndarray:
    """Return every model's accuracy on the rows it was not trained on."""
    result = train_stack(stack, settings)
    found = predict_stack(result.weights, stack.x, stack.mean, stack.scale).argmax(axis=2)
    held_out = stack.train == 0
    return ((found == stack.y) & held_out).sum(axis=1) / held_out.sum(axis=1)


def accuracy_alone(stack: Stack, model: int) -> float:
    """Return the same of one model in the usual loop."""
    assert stack.mean is not None and stack.scale is not None
    inputs = torch.from_numpy((stack.x - stack.mean[model]) / stack.scale[model]).float()
    labels, rows = torch.from_numpy(stack.y), torch.from_numpy(stack.train[model] > 0)
    network = table_mlp(inputs.shape[1], 2, derive_torch(0, "weights", model))
    adam = torch.optim.Adam(network.parameters(), lr=1e-3)
    for _ in range(1500):
        adam.zero_grad()
        cross_entropy(network(inputs[rows]), labels[rows]).backward()
        adam.step()
    return (network(inputs).argmax(1) == labels)[~rows].double().mean().item()


def stack_of(x: np.ndarray, y: np.ndarray) -> Stack:
    train = derive(0, "halves").random((N_MODELS, len(x))) < 0.5
    rngs = [derive_torch(0, "weights", model) for model in range(N_MODELS)]
    return Stack(
        x,
        y,
        train,
        initial_weights(x.shape[1], 2, rngs),
        validation=~train,
        strength=0.1,
        **standardise(x, train)._asdict(),
    )


def heart() -> Stack:
    (encoded,), _ = encode_parts(load("heart").train)
    return stack_of(np.asarray(encoded.x, np.float64), encoded.y)


def made() -> Stack:
    rng = derive(0, "made")
    x = rng.normal(size=(200, 8))
    return stack_of(x, (x[:, 0] * x[:, 1] + 0.5 * rng.normal(size=200) > 0).astype(np.int64))


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        made,
        pytest.param(
            heart,
            marks=pytest.mark.skipif(
                "FIRECV_DATA" not in os.environ, reason="needs the heart table in FIRECV_DATA"
            ),
        ),
    ],
)
def test_accuracies_are_those_of_models_trained_alone(make) -> None:
    stack = make()
    alone = np.array([accuracy_alone(stack, model) for model in range(N_MODELS)])
    double = accuracies(stack, StackSettings(precision="float64"))
    single = accuracies(stack, StackSettings())
    assert np.abs(double - alone).mean() < 0.005 and np.abs(single - alone).mean() < 0.005
    assert alone.std() > 0.01, "all models are alike, so this test shows nothing"


@pytest.mark.slow
@pytest.mark.parametrize("form", ["precondition", "trace", "align"])
def test_single_precision_gives_the_accuracies_of_double(form: str) -> None:
    stack = made()
    single = accuracies(stack, StackSettings(form, "labelled"))
    double = accuracies(stack, StackSettings(form, "labelled", precision="float64"))
    assert np.abs(single - double).mean() < 0.005
