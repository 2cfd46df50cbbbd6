import pytest
import torch

from firecv.errors import FirecvNotice
from firecv.fire.forms import misalignment, precondition, pull
from firecv.fire.metric import metric_of
from firecv.fire.pull import Pull
from firecv.fisher import Block, Diagonal, Kronecker, LowRank, Scalar
from firecv.fisher.base import as_matrix, from_gradients

RNG = torch.Generator().manual_seed(0)


def draw(*shape):
    return torch.randn(*shape, generator=RNG, dtype=torch.float64)


STRUCTURES = [Scalar, Diagonal, Block, Kronecker, LowRank.of(6)]


@pytest.mark.parametrize("structure", STRUCTURES)
def test_the_pull_solves_its_linear_system(structure):
    fisher = from_gradients(structure, {"w": draw(9, 6)})
    params, anchor, step = {"w": draw(6)}, {"w": draw(6)}, {"w": draw(6).abs()}
    found = pull(params, anchor, fisher, step)["w"]
    system = torch.eye(6).double() + torch.diag(step["w"]) @ as_matrix(fisher, params)
    wanted = anchor["w"] + torch.linalg.solve(system, params["w"] - anchor["w"])
    assert torch.allclose(found, wanted, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("make", [torch.optim.SGD, torch.optim.Adam])
def test_in_place_and_written_out_pulls_agree(structure, make):
    parameter = torch.nn.Parameter(draw(6))
    optimiser = make([parameter], lr=0.1)
    parameter.grad = draw(6)
    optimiser.step()
    fisher, anchor = from_gradients(structure, {"w": draw(9, 6)}), {"w": draw(6)}
    steps = metric_of(optimiser, {parameter: "w"})
    step = {"w": 2.0 * torch.as_tensor(steps["w"], dtype=torch.float64).expand(6)}
    wanted = pull({"w": parameter.detach().clone()}, anchor, fisher, step)["w"]
    towards = Pull(fisher, anchor)
    towards({"w": parameter}, optimiser, 2.0)
    assert torch.allclose(parameter.detach(), wanted, rtol=1e-8, atol=1e-10)


def test_a_changed_learning_rate_changes_the_pull():
    parameter = torch.nn.Parameter(torch.ones(1))
    optimiser = torch.optim.SGD([parameter], lr=1.0)
    towards = Pull(Diagonal({"w": torch.ones(1)}), {"w": torch.zeros(1)})
    towards({"w": parameter}, optimiser, 1.0)
    assert parameter.item() == pytest.approx(1 / 2)
    optimiser.param_groups[0]["lr"] = 3.0
    towards({"w": parameter}, optimiser, 1.0)
    assert parameter.item() == pytest.approx(1 / 8)


def test_an_unknown_optimiser_is_said_to_be_decoupled():
    parameter = torch.nn.Parameter(torch.ones(2))
    with pytest.warns(FirecvNotice, match="RMSprop"):
        assert metric_of(torch.optim.RMSprop([parameter], lr=0.3), {parameter: "w"}) == {"w": 0.3}


def test_a_parameter_adam_has_not_moved_is_not_pulled():
    parameter = torch.nn.Parameter(torch.ones(2))
    assert metric_of(torch.optim.Adam([parameter]), {parameter: "w"}) == {"w": 0.0}


@pytest.mark.parametrize("structure", STRUCTURES)
def test_preconditioning_is_one_plus_strength_times_the_fisher(structure):
    fishers = [from_gradients(structure, {"w": draw(9, 6)}) for _ in range(2)]
    g = {"w": draw(6)}
    found = precondition(g, [(0.5, fishers[0]), (2.0, fishers[1])], 0.3)["w"]
    a, b = (as_matrix(fisher, g) for fisher in fishers)
    assert torch.allclose(found, g["w"] + 0.3 * (0.5 * a + 2 * b) @ g["w"], rtol=1e-9)


def test_two_halves_take_the_noise_out_of_the_mismatch():
    v = {"w": torch.zeros(1, dtype=torch.float64)}
    single, halved = [], []
    for _ in range(4000):
        a, b = ({"w": draw(1)} for _ in range(2))
        single.append(misalignment([{"w": (a["w"] + b["w"]) / 2}], v).item())
        halved.append(misalignment([a, b], v).item())
    assert sum(single) / 4000 == pytest.approx(0.5, abs=0.05)
    assert sum(halved) / 4000 == pytest.approx(0.0, abs=0.06)
