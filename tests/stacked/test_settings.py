"""Settings refuse what makes no sense, and say why."""

import pytest

from firecv.errors import DataError
from firecv.stacked import StackSettings


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"form": "weigh"}, "form='weigh' is unknown"),
        ({"regime": "A"}, "regime='A' is unknown"),
        ({"law": "sampled"}, "law='sampled' is unknown"),
        ({"precision": "float16"}, "precision='float16' is unknown"),
        ({"regime": "unlabelled", "law": "empirical"}, "hides"),
        ({"form": "align"}, "sees nothing"),
        ({"form": "trace", "regime": "summary"}, "only 'align'"),
        ({"mix": 1.5}, "mix must lie"),
        ({"decay": 1.0}, "decay in"),
        ({"lr": 0.0}, "lr must be positive"),
        ({"n_epochs": -1}, "n_epochs not negative"),
    ],
)
def test_wrong_settings_are_refused(given, message) -> None:
    with pytest.raises(DataError, match=message):
        StackSettings(**given)


@pytest.mark.parametrize(
    ("regime", "law"),
    [
        ("none", "empirical"),
        ("unlabelled", "exact"),
        ("labelled", "empirical"),
        ("summary", "exact"),
        ("labelled_summary", "empirical"),
    ],
)
def test_the_law_follows_from_the_regime(regime, law) -> None:
    assert StackSettings("align" if "summary" in regime else "plain", regime).label_law == law


def test_without_validation_rows_the_training_fisher_is_all() -> None:
    assert StackSettings("trace", "none", mix=0.2).share == 1
    assert StackSettings("trace", "labelled", mix=0.2).share == 0.2
