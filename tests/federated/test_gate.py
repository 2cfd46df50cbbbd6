"""Which answers of a round pass, and how long they are held back."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from firecv.federated.gate import Gate
from firecv.federated.schema import like, number
from firecv.federated.screening import Screen

SERVER = {"weights": {"a": torch.ones(4)}}
CONTROL = {"control": like({"a": torch.ones(4)})}


class Round:
    """A gate with what went in, what came out and what was refused."""

    def __init__(self, typical=None, screen=None, n=50, schema=None):
        self.schema = CONTROL if schema is None else schema
        self.refused = {}
        self.read = 0
        self.gate = Gate(
            screen or Screen(), SERVER, typical or {}, [10] * n, self.refused.__setitem__
        )

    def __call__(self, answers):
        def counted():
            for pair in answers:
                self.read += 1
                yield pair

        return self.gate.passed(counted(), self.schema)


def answer(fisher=None, weights=1.0, **more):
    found = {"weights": {"a": torch.full((4,), weights)}, **more}
    return found if fisher is None else {**found, "control": {"a": torch.full((4,), fisher)}}


def held_back(round_, answers):
    """Return how many answers are read before the first passes."""
    next(round_(answers))
    return round_.read


def test_weights_alone_are_not_held_back():
    assert held_back(Round(schema={}), [(k, answer()) for k in range(20)]) == 1


def test_an_entry_never_seen_is_held_back_to_the_end():
    assert held_back(Round(), [(k, answer(1.0)) for k in range(20)]) == 20


def test_an_entry_seen_before_is_not():
    assert held_back(Round({"control": 1.0}), [(k, answer(1.0)) for k in range(20)]) == 1


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(0.1, 90.0), min_size=1, max_size=12),
    st.sampled_from([{}, {"control": 10.0}]),
)
def test_answers_of_like_size_all_pass_in_their_order(sizes, typical):
    round_ = Round(typical)
    answers = [(k, answer(size)) for k, size in enumerate(sizes)]
    assert [k for k, _ in round_(answers)] == list(range(len(sizes)))
    assert not round_.refused


@pytest.mark.parametrize("typical", [{}, {"control": 2.0}], ids=["new", "known"])
@pytest.mark.parametrize("odd", [0, 3, 9])
def test_one_that_is_far_too_large_is_refused(typical, odd):
    round_ = Round(typical)
    answers = [(k, answer(1e7 if k == odd else 1.0)) for k in range(10)]
    assert [k for k, _ in round_(answers)] == [k for k in range(10) if k != odd]
    assert "'control' has norm 2e+07, more than 1000 times the usual 2" in round_.refused[odd]


@pytest.mark.parametrize("n_odd", [1, 3, 7])
@pytest.mark.parametrize("typical", [{}, {"control": 2.0}], ids=["new", "known"])
def test_what_is_expected_does_not_depend_on_how_many_send_something_else(typical, n_odd):
    round_ = Round(typical)
    answers = [(k, answer(None if k < n_odd else 1.0)) for k in range(8)]
    assert [k for k, _ in round_(answers)] == list(range(n_odd, 8))
    wanted = "it holds 'weights', expected 'control', 'weights'"
    assert round_.refused == dict.fromkeys(range(n_odd), wanted)


def test_what_ends_the_screen_costs_its_own_answer():
    def check(part, n_samples):
        if not isinstance(part, float):
            raise RuntimeError("out of order")

    round_ = Round(schema={"n": check})
    answers = [(0, answer(n=1.0)), (1, answer(n={})), (2, answer(n=1.0))]
    assert [k for k, _ in round_(answers)] == [0, 2]
    assert round_.refused == {1: "it cannot be read: RuntimeError: out of order"}


def test_of_two_the_larger_is_the_odd_one():
    round_ = Round()
    assert [k for k, _ in round_([(0, answer(1e9)), (1, answer(1.0))])] == [1]


def test_where_nothing_is_usual_any_size_passes():
    round_ = Round()
    assert len(list(round_([(0, answer(0.0)), (1, answer(5.0))]))) == 2


@pytest.mark.parametrize("scale", [24.0, 26.0])
def test_weights_may_be_so_much_larger_than_the_servers(scale):
    """The server's have norm 2, so 10 times 2 + 1 is the limit."""
    round_ = Round(schema={})
    passed = list(round_([(0, answer(weights=scale * 0.6))]))
    assert len(passed) == (scale * 0.6 * 2 <= 30)


def test_the_usual_size_is_the_median_and_never_falls():
    schema = {**CONTROL, "n": number()}
    round_ = Round(schema=schema)
    list(round_([(k, answer(float(k + 1), n=1.0)) for k in range(5)]))
    assert round_.gate.typical == {"control": 6.0, "n": 1.0}
    later = Round(round_.gate.typical, schema=schema)
    list(later([(k, answer(0.001, n=1.0)) for k in range(5)]))
    assert later.gate.typical == {"control": 6.0, "n": 1.0}


def test_refused_sizes_count_towards_what_is_usual():
    round_ = Round({"control": 2.0})
    assert not list(round_([(k, answer(1e6)) for k in range(5)]))
    assert round_.gate.typical == pytest.approx({"control": 2e6})
    assert len(list(Round(round_.gate.typical)([(k, answer(1e6)) for k in range(5)]))) == 5


def test_clipping_is_applied_to_what_passes():
    round_ = Round(screen=Screen(clip=1.0))
    ((_, content),) = round_([(0, answer(1.0, weights=3.0))])
    assert torch.allclose(content["weights"]["a"], torch.full((4,), 1.5))
    assert torch.equal(content["control"]["a"], torch.ones(4))


def test_no_answers_no_news():
    round_ = Round({"control": 1.0})
    assert list(round_([])) == [] and round_.gate.typical == {"control": 1.0}
