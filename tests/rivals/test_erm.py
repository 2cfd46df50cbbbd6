"""Plain training, and every weighted method with weights of one."""

import pytest
import torch
from torch.nn import functional

from firecv.rivals import DIW, EIWERM, ERM, GIW, IWERM, L2, RIWERM
from firecv.rivals import diw as diw_module
from firecv.rivals import giw as giw_module
from firecv.seeding import derive_torch
from firecv.training import Training
from tests.rivals.problems import Given, same_weights, table, table_task

SETTINGS = Training(n_epochs=4, batch_size=16, rate=0.01)


def fitted(method, sample_weight=None, seed=3):
    data, target = table()
    task, losses = table_task(), []
    outcome = method.fit(
        task,
        data,
        target,
        SETTINGS,
        seed,
        sample_weight=sample_weight,
        after_epoch=lambda epoch, loss: losses.append((epoch, loss)),
    )
    return task, losses, outcome


@pytest.mark.parametrize("is_weighted", [False, True])
def test_erm_is_the_plain_loop(is_weighted):
    (x, y), _ = table()
    given = torch.linspace(0, 2, len(x)) if is_weighted else None
    task, losses, outcome = fitted(ERM(), given)
    plain, rng = table_task(), derive_torch(3, "shuffle", 0)
    optimiser = torch.optim.Adam(plain.model.parameters(), 0.01)
    for _ in range(4):
        for rows in torch.randperm(len(x), generator=rng).split(16):
            optimiser.zero_grad()
            each = functional.cross_entropy(plain.model(x[rows]), y[rows], reduction="none")
            (each.mean() if given is None else (each * given[rows]).mean()).backward()
            optimiser.step()
    for name, value in plain.weights().items():
        torch.testing.assert_close(task.weights()[name], value, rtol=1e-5, atol=1e-6)
    assert [epoch for epoch, _ in losses] == [1, 2, 3, 4]
    assert outcome.weights is None and not outcome.chosen


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize(
    "method",
    [
        IWERM(ratio=Given()),
        IWERM(ratio=Given(), clip=0.9, normalise=True),
        EIWERM(gamma=0.0),
        EIWERM(gamma=0.5, ratio=Given()),
        EIWERM(gammas=(0.0,)),
        RIWERM(alpha=1.0),
        L2(decays=(0.0,)),
        DIW(),
        GIW(),
    ],
    ids=repr,
)
def test_a_method_with_weights_of_one_is_erm_to_the_bit(method, is_weighted, monkeypatch):
    monkeypatch.setattr(diw_module, "match_losses", lambda losses, *rest: losses * 0 + 1)
    monkeypatch.setattr(giw_module, "within_support", lambda known, asked, rng: asked[:, 0] < 9)
    given = torch.linspace(0.5, 1.5, 90) if is_weighted else None
    task, losses, _ = fitted(method, given)
    plain, wanted, _ = fitted(ERM(), given)
    assert same_weights(task, plain) and losses == wanted
