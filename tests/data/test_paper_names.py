"""Which table stands for a name in the paper: its printed fold accuracies betray its size.

An accuracy on a fold of b rows is a/b. In the paper's tables of folds (st-CV, then FIRE) the cells
below are of 10 folds and are printed in percent with one digit, some of them cut, some rounded. A
table of N rows has folds of N // 10 or N // 10 + 1 rows.
"""

import math

import pytest

from firecv.data.catalogue import DATASETS

PRINTED = {
    "Heptatis": "68.7 68.7 80.0 66.6 80.0 87.5 68.7 93.3 80.0 80.0",
    "Housevote": "90.9 95.4 95.3 90.6 79.1 88.6 95.4 95.3 93.1 97.6",
    "Thyroid": "80.9 85.7 85.7 76.1 65.0 66.6 71.4 95.2 66.6 60.0",
    "Lymphography": "85.5 84.1 88.4 79.7 89.8 86.9 85.5 86.9 73.9 92.7",
    "LiverDisorders": "65.5 58.6 65.5 62.1 64.2 51.7 58.6 58.6 46.4 60.7",
}


def explained(name: str, n_rows: int) -> bool:
    """Return whether every printed accuracy can come from ten folds of so many rows."""
    sizes = {n_rows // 10, math.ceil(n_rows / 10)}
    possible = {
        round(value, 1)
        for size in sizes
        for right in range(size + 1)
        for value in (
            100 * right / size,  # rounded
            math.floor(1000 * right / size + 1e-9) / 10,  # cut
        )
    }
    return all(float(value) in possible for value in PRINTED[name].split())


def named(name: str) -> str:
    return next(key for key, dataset in DATASETS.items() if name in dataset.folds)


@pytest.mark.parametrize(
    ("name", "chosen", "other"),
    [("Heptatis", "hepatitis-uci", "hepatitis"), ("Housevote", "vote-weka", "housevotes")],
)
def test_the_table_with_missing_values_is_the_papers(name, chosen, other):
    assert named(name) == chosen
    assert explained(name, DATASETS[chosen].n_train or 0)
    assert not explained(name, DATASETS[other].n_train or 0)


@pytest.mark.parametrize(
    ("name", "likely", "candidates"),
    [
        ("Thyroid", "sonar", ["new-thyroid1", "newthyroid", "thyroid"]),
        ("Lymphography", "australian", ["lymphography", "lymphography-two"]),
        ("LiverDisorders", "breast-cancer-weka", ["bupa"]),
    ],
)
def test_some_rows_of_the_paper_have_the_size_of_another_table(name, likely, candidates):
    assert explained(name, DATASETS[likely].n_train or 0)
    assert named(name) in candidates
    small = [c for c in candidates if (DATASETS[c].n_train or 0) < 1000]
    assert not any(explained(name, DATASETS[c].n_train or 0) for c in small)
