"""Modules as problems."""

import pytest

from firecv.errors import DataError
from firecv.federated.flower.problem import load_problem
from tests.federated.flower import toy


def test_a_module_with_the_three_functions_is_a_problem():
    assert load_problem(toy.__name__) is toy


@pytest.mark.parametrize(
    ("name", "words"),
    [("no.such.module", "there is no module 'no.such.module'"), ("math", "lacks load_task")],
)
def test_others_are_refused(name, words):
    with pytest.raises(DataError, match=words):
        load_problem(name)
