import pytest

from firecv.experiments import catalogue
from firecv.experiments.figures import FIGURES, figure
from firecv.experiments.summary import summarise


def measured(name: str, n_seeds: int = 3):
    """Return made-up numbers for every cell of a table that can have some."""
    table = catalogue.table(name)
    return summarise(
        table,
        {
            cell: {
                "seed": list(range(n_seeds)),
                cell.metric: [0.5 + 0.01 * ((place + seed) % 7) for seed in range(n_seeds)],
            }
            for place, cell in enumerate(table.cells)
            if cell.setting is not None
        },
    )


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_draws_every_row_once_there_are_numbers(name):
    found = figure(name)
    chart = found.draw({each: measured(each) for each in found.tables})
    drawn = str(chart.to_dict())
    expected = {
        "delta-folds": ("Appendicitis", "k=10", "Wisconsin"),
        "batching": ("MNIST", "st-CV", "FIRE (paper)"),
        "diagnostics": ("writers", "auc"),
        "size-of-v": ("bands", "FIRE weigh", "V pooled"),
        "rounds": ("nuisance", "labelled loss"),
        "weights": ("skew, client 9",),
    }[name]
    for words in expected:
        assert words in drawn
