"""Predictions are those of the single networks on standardised inputs."""

import numpy as np
import pytest
import torch

from firecv.errors import DataError
from firecv.models import table_mlp
from firecv.seeding import derive, derive_torch
from firecv.stacked import initial_weights, predict_stack, standardise


@pytest.mark.parametrize("n_models", [1, 130])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_each_model_predicts_as_its_network(n_models: int, dtype: torch.dtype) -> None:
    rngs = [derive_torch(0, "weights", model) for model in range(n_models)]
    weights = {name: v.to(dtype) for name, v in initial_weights(4, 3, rngs).items()}
    rng = derive(0, "x")
    x = rng.normal(size=(37, 4)) * 30 + 1000
    mean, scale = standardise(x, rng.integers(0, 2, (n_models, 37)))
    found = predict_stack(weights, x, mean, scale)
    assert found.shape == (n_models, 37, 3) and found.dtype == str(dtype).removeprefix("torch.")
    for model in {0, n_models - 1}:
        alone = table_mlp(4, 3, torch.Generator()).to(dtype)
        alone.load_state_dict({name: value[model] for name, value in weights.items()})
        inputs = torch.from_numpy((x - mean[model]) / scale[model]).to(dtype)
        expected = alone(inputs).softmax(1).detach().numpy()
        tolerance = 1e-12 if dtype == torch.float64 else 1e-5
        np.testing.assert_allclose(found[model], expected, rtol=0, atol=tolerance)


def test_without_scales_inputs_are_taken_as_they_are() -> None:
    weights = initial_weights(4, 2, [derive_torch(0, "weights")])
    x = derive(0, "x").normal(size=(5, 4))
    ones = np.ones((1, 4))
    expected = predict_stack(weights, x, 0 * ones, ones)
    np.testing.assert_array_equal(predict_stack(weights, x), expected)


@pytest.mark.parametrize(
    ("x", "message"),
    [(np.ones((3, 5)), "x has 5 columns"), (np.full((3, 4), np.nan), "holds NaN")],
)
def test_bad_inputs_are_refused(x, message) -> None:
    with pytest.raises(DataError, match=message):
        predict_stack(initial_weights(4, 2, [derive_torch(0, "weights")]), x)
