"""What a method has to beat: V as one more fragment, and an L2 penalty."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional

from firecv.errors import ModelError
from firecv.rivals import ERM, L2, Pooled, PooledHalf, Target
from firecv.rivals.diw import labelled_batches
from firecv.rivals.weighing import cross_validated_risks
from firecv.seeding import derive_torch
from firecv.training import Training
from tests.rivals.problems import same_weights, table, table_task

SETTINGS = Training(n_epochs=4, batch_size=16, rate=0.01)


@pytest.mark.parametrize("is_weighted", [False, True])
def test_pooled_is_erm_on_everything(is_weighted):
    (x, y), target = table()
    given = torch.linspace(0, 2, 90) if is_weighted else None
    everything = None if given is None else torch.cat([given, torch.ones(40)])
    one, other = table_task(), table_task()
    Pooled().fit(one, (x, y), target, SETTINGS, 1, sample_weight=given)
    data = torch.cat([x, target.x]), torch.cat([y, target.y])
    ERM().fit(other, data, None, SETTINGS, 1, sample_weight=everything)
    assert same_weights(one, other)


@pytest.mark.parametrize("size", [16, 64, None])
def test_half_of_every_step_is_of_v(size):
    (x, y), target = table()
    settings, given = replace(SETTINGS, batch_size=size), torch.linspace(0, 2, 90)
    task, plain = table_task(), table_task()
    PooledHalf().fit(task, (x, y), target, settings, 1, sample_weight=given)
    drawn = labelled_batches((target.x, target.y), settings, 1)
    order, seen = derive_torch(1, "shuffle", 0), set()
    optimiser = torch.optim.Adam(plain.model.parameters(), 0.01)
    for _ in range(4):
        places = torch.arange(90) if size is None else torch.randperm(90, generator=order)
        for rows in places.split(size or 90):
            v, labels = next(drawn)
            seen.add(len(v))
            optimiser.zero_grad()
            each = functional.cross_entropy(plain.model(x[rows]), y[rows], reduction="none")
            of_v = functional.cross_entropy(plain.model(v), labels)
            ((each * given[rows]).mean() / 2 + of_v / 2).backward()
            optimiser.step()
    assert seen == {min(size or 40, 40)}
    for name, value in plain.weights().items():
        torch.testing.assert_close(task.weights()[name], value, rtol=1e-4, atol=1e-5)


def test_the_penalty_has_the_least_cross_validated_error():
    data, _ = table()
    settings, decays = Training(12, 16, 0.02), (0.0, 0.01, 30.0)
    task, other = table_task(), table_task()
    outcome = L2(decays).fit(task, data, None, settings, 2)
    trainings = [(replace(settings, decay=decay), None) for decay in decays]
    risks = cross_validated_risks(table_task(), data, trainings, np.ones(90), 5, 2)
    assert risks[2] > min(risks) and outcome.chosen == {"decay": decays[int(np.argmin(risks))]}
    ERM().fit(other, data, None, replace(settings, decay=outcome.chosen["decay"]), 2)
    assert same_weights(task, other)


def test_the_penalty_is_chosen_without_v():
    data, target = table()
    tasks = [table_task() for _ in range(3)]
    for task, given in zip(tasks, (None, target, Target(target.x, 1 - target.y)), strict=True):
        L2((0.0, 0.1), n_folds=2).fit(task, data, given, SETTINGS, 2)
    assert same_weights(tasks[0], tasks[1]) and same_weights(tasks[0], tasks[2])


def test_wrong_settings_are_refused():
    for settings in ({"decays": ()}, {"decays": (-1.0,)}, {"n_folds": 1}):
        with pytest.raises(ModelError, match="expected"):
            L2(**settings)
