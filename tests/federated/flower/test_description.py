"""Algorithms as text."""

import json

import pytest

from firecv.errors import DataError, ModelError
from firecv.federated.algorithms import ALGORITHMS, FedAvg
from firecv.federated.algorithms.weighed import Weighed
from firecv.federated.controls import MatchedMeans
from firecv.federated.flower.description import to_algorithm, to_settings, to_text
from firecv.federated.privacy import Private
from firecv.federated.screening import Screen
from firecv.training import Training
from tests.federated.flower.cases import CASES


@pytest.mark.parametrize("name", CASES)
def test_every_algorithm_comes_back_equal(name):
    assert to_algorithm(to_text(CASES[name])) == CASES[name]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_key_alone_is_the_algorithm_with_its_defaults(name):
    assert to_algorithm(name) == ALGORITHMS[name]()


def test_wrappers_hold_wrappers():
    algorithm = Private(Weighed(FedAvg(), MatchedMeans("activations")), 0.5, clip_sketch=2.0)
    assert to_algorithm(to_text(algorithm)) == algorithm


def test_nested_settings_left_out_stay_at_the_algorithms_own_defaults():
    found = to_algorithm('{"type": "fedavg", "local": {"rate": 0.5}}')
    assert found.local == Training(5, 64, 0.5, "sgd", momentum=0.9, decay=1e-5)


@pytest.mark.parametrize(
    "text",
    [
        "fedavgg",
        "[1]",
        "{}",
        '{"type": "os.system"}',
        '{"type": "training"}',
        '{"type": ["fedavg"]}',
        '{"type": "fedavg", "rate": 1}',
        '{"type": "fedavg", "local": {"type": "builtins.eval"}}',
        '{"type": "private"}',
    ],
)
def test_what_describes_no_algorithm_is_refused(text):
    with pytest.raises(DataError):
        to_algorithm(text)


def test_settings_out_of_bounds_are_refused_by_the_algorithm_itself():
    with pytest.raises(ModelError, match="rate"):
        to_algorithm('{"type": "fedavg", "local": {"rate": -1}}')


def test_settings_that_are_no_plain_values_are_refused():
    with pytest.raises(DataError, match="cannot be described"):
        to_text(FedAvg(local=object()))


def test_a_screen_comes_back():
    screen = Screen(largest=3.0, clip=0.5)
    assert to_settings(to_text(screen), Screen) == screen
    assert to_settings("{}", Screen) == Screen()
    with pytest.raises(DataError, match="expected 'screen'"):
        to_settings('{"type": "training"}', Screen)


def test_the_text_is_json_that_any_reader_takes():
    assert json.loads(to_text(FedAvg()))["type"] == "fedavg"
