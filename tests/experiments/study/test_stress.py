import numpy as np
import pytest
from scipy.stats import beta

from firecv.data import DATASETS, load
from firecv.data.target import natural_fragments
from firecv.experiments.kinds.federated_algorithms import algorithm
from firecv.experiments.kinds.natural_federation import NaturalFederation
from firecv.experiments.study.stress import ABSENT, CAP, COLUMNS, HOSPITALS, table
from firecv.fire.weigh import settings
from firecv.fire.weigh.settings import LABEL_FREE, Weighing

HEART = NaturalFederation("heart_hospitals")


def test_the_shares_of_vs_angles_are_as_said():
    inside = np.diff(beta(6, 2).cdf(np.linspace(0, 1, 11)))
    assert round(100 * inside[6:9].sum()) == 69 and round(100 * inside[:5].sum()) == 6


def test_rules_are_those_of_the_library_with_their_defaults():
    assert CAP == settings.CAP
    for rule in LABEL_FREE:
        assert algorithm(COLUMNS[rule], 12, 3, 64).weighing == Weighing(rule, server_step=False)
    bold = algorithm(COLUMNS["information, bold"], 12, 3, 64).weighing
    assert bold.cap is None and not bold.guarded


def test_no_column_sees_labels_and_every_row_has_every_column():
    found = table("clean")
    assert {cell.regime for cell in found.cells} == {"none", "summary"}
    assert len(found.rows) == len(ABSENT) + 4 + 2 + len(HOSPITALS) + 1
    assert len(found.cells) == len(found.rows) * len(COLUMNS)
    assert {cell.n_seeds for cell in found.cells} == {10}


@pytest.mark.skipif(HEART.missing() != "", reason=HEART.missing())
def test_hospitals_are_in_the_order_of_the_targets():
    fragments = natural_fragments(DATASETS["heart_hospitals"], load("heart_hospitals").train)
    assert list(fragments) == ["cleveland", "hungarian", "switzerland", "va"]
    assert all(len(rows) > 100 for rows in fragments.values())
