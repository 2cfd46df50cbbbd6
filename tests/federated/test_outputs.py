import copy

import pytest
import torch

from firecv.federated.outputs import class_means, features_at, scores_at
from tests.federated.algorithms import toy


@pytest.mark.parametrize("make", [toy.toy_task, toy.batch_norm_task], ids=["plain", "batch_norm"])
def test_scores_and_features_are_those_of_a_copy_in_eval_mode(make):
    task, x = make(), torch.randn(300, 4, dtype=torch.float64, generator=torch.Generator())
    weights = {name: value * 1.5 + 0.1 for name, value in task.weights().items()}
    before = task.weights()
    task.model.train()
    scores, features = features_at(task, weights, x)
    copied = copy.deepcopy(task.model).eval()
    copied.load_state_dict(weights, strict=False)
    assert torch.allclose(scores, copied(x), rtol=0, atol=1e-13)
    assert torch.allclose(features, copied[:-1](x), rtol=0, atol=1e-13)
    assert torch.equal(scores_at(task, weights, x), scores)
    assert task.model.training
    assert toy.same(task.weights(), before)
    assert not scores.requires_grad and not features.requires_grad


@pytest.mark.parametrize("labels", [[0, 1, 2, 1], [2, 2, 2, 2], [0, 0, 3, 3]], ids=str)
def test_class_means_are_those_of_a_loop(labels):
    values = torch.randn(4, 2, dtype=torch.float64, generator=torch.Generator())
    found = class_means(values, torch.tensor(labels), 5)
    for c in range(5):
        rows = [values[i] for i, label in enumerate(labels) if label == c]
        expected = sum(rows) / len(rows) if rows else torch.zeros(2, dtype=torch.float64)
        assert torch.allclose(found[c], expected, rtol=0, atol=1e-15)
