import pytest
import torch

from firecv.errors import StructureError
from firecv.fire.accumulate import PAPER, Accumulated, Accumulation
from firecv.fisher import STRUCTURES, Diagonal, Kronecker, LowRank
from firecv.fisher.base import as_matrix, from_gradients

RAW = Accumulation(debias=False, normalize=False)


def fisher(*values):
    return Diagonal({"w": torch.tensor(values, dtype=torch.float64)})


def entries(found):
    return found.diagonal()["w"].tolist()


def test_one_step_per_batch_is_algorithm_1_to_the_letter():
    known = Accumulated(PAPER).with_validation(fisher(4.0, 0.0))
    i_g = torch.zeros(2, dtype=torch.float64)
    for batch in ([1.0, 2.0], [3.0, 0.0], [5.0, 5.0]):
        known = known.with_batch(fisher(*batch))
        i_b = 0.5 * torch.tensor(batch).double() + 0.5 * torch.tensor([4.0, 0.0]).double()
        i_g = 0.9 * i_g + 0.1 * i_b
        assert entries(known.current("quadratic")) == pytest.approx(i_g.tolist(), abs=1e-15)
    assert known.finished() is known and known.n_steps == 3


def test_inside_a_fragment_batches_are_averaged_and_earlier_fragments_decay_once():
    known = Accumulated(RAW).with_validation(fisher(4.0))
    known = known.with_batch(fisher(1.0)).with_batch(fisher(3.0))
    assert entries(known.current("quadratic")) == pytest.approx([0.1 * (0.5 * 2 + 0.5 * 4)])
    first = known.finished()
    assert entries(first.current("quadratic")) == entries(first.remembered("quadratic"))
    assert entries(first.current("quadratic")) == pytest.approx(entries(known.current("quadratic")))
    second = first.with_batch(fisher(9.0))
    wanted = 0.9 * 0.3 + 0.1 * (0.5 * 9 + 0.5 * 4)
    assert entries(second.current("quadratic")) == pytest.approx([wanted])
    assert entries(second.finished().current("quadratic")) == pytest.approx([wanted])
    assert entries(second.remembered("quadratic")) == pytest.approx([0.3])


def test_a_thousand_batches_do_not_wash_an_earlier_fragment_out():
    known = Accumulated(RAW).with_batch(fisher(1.0, 0.0)).finished()
    for _ in range(1000):
        known = known.with_batch(fisher(0.0, 1.0))
    assert entries(known.current("quadratic")) == pytest.approx([0.09, 0.1])


def test_debiasing_makes_up_for_the_start_from_zero():
    settings = Accumulation(normalize=False)
    known = Accumulated(settings).with_batch(fisher(2.0, 6.0))
    assert entries(known.current("quadratic")) == pytest.approx([2.0, 6.0])
    assert entries(
        known.finished().with_batch(fisher(2.0, 6.0)).current("quadratic")
    ) == pytest.approx([2, 6])


@pytest.mark.parametrize("structure", STRUCTURES.values(), ids=STRUCTURES)
def test_normalized_fishers_bound_a_step_or_have_a_mean_diagonal_of_one(structure):
    rng = torch.Generator().manual_seed(0)
    params = {"w": torch.zeros(12, 5, dtype=torch.float64)}

    def some(scale):
        gradients = scale * torch.randn(7, 12, 5, generator=rng, dtype=torch.float64)
        return from_gradients(structure, {"w": gradients})

    known = Accumulated().with_validation(some(10.0)).with_batch(some(1e-3))
    for state in (known, known.finished(), known.finished().with_batch(some(5.0))):
        parts = [f * as_matrix(fisher, params) for f, fisher in state.terms("precondition")]
        assert 0.5 <= float(torch.linalg.eigvalsh(sum(parts))[-1]) <= 1.02
        parts = [f * as_matrix(fisher, params) for f, fisher in state.terms("quadratic")]
        assert float(sum(parts).trace()) / 60 == pytest.approx(1.0)


def test_without_a_validation_set_the_fragment_is_all():
    known = Accumulated(Accumulation(normalize=False)).with_batch(fisher(3.0))
    assert entries(known.current("quadratic")) == pytest.approx([3.0])


def test_an_all_zero_fisher_is_not_divided_by_zero():
    assert entries(Accumulated().with_batch(fisher(0.0, 0.0)).current("quadratic")) == [0.0, 0.0]


def test_a_fisher_too_small_for_single_precision_is_left_as_it_is():
    tiny = Diagonal({"w": torch.tensor([1e-41, 0.0])})
    for form in ("precondition", "quadratic"):
        found = Accumulated().with_batch(tiny).current(form).diagonal()["w"]
        assert found.isfinite().all()


def test_nothing_is_known_at_first():
    empty = Accumulated()
    assert (
        empty.current("quadratic") is None
        and empty.remembered("quadratic") is None
        and empty.terms("quadratic") == []
    )
    assert empty.finished() is empty


@pytest.mark.parametrize("structure", [Diagonal, LowRank.of(9), Kronecker])
def test_terms_sum_up_to_the_current_fisher(structure):
    rng = torch.Generator().manual_seed(0)

    def some():
        gradients = torch.randn(5, 3, 3, generator=rng, dtype=torch.float64)
        return from_gradients(structure, {"w": gradients})

    known = Accumulated().with_validation(some()).with_batch(some()).finished().with_batch(some())
    params = {"w": torch.zeros(3, 3, dtype=torch.float64)}
    parts = [factor * as_matrix(fisher, params) for factor, fisher in known.terms("quadratic")]
    whole = as_matrix(known.current("quadratic"), params)
    assert len(parts) == 2
    assert torch.allclose(sum(parts), whole, atol=1e-10)


def test_states_are_not_changed_by_what_follows():
    known = Accumulated().with_batch(fisher(1.0))
    before = entries(known.current("quadratic"))
    known.with_batch(fisher(9.0)).finished()
    known.with_validation(fisher(3.0))
    assert entries(known.current("quadratic")) == before


@pytest.mark.parametrize("bad", [{"mix": 1.5}, {"mix": -0.1}, {"decay": 1.0}, {"decay": -1}])
def test_shares_are_checked(bad):
    with pytest.raises(StructureError, match="share from 0 to 1"):
        Accumulation(**bad)
