import math

import numpy as np
import pytest

from firecv.compare.entries import parse
from firecv.compare.summary import find_winners, summary_table
from firecv.compare.words import amount, gap, text_table, winner_said


def said(metric="accuracy", n_seeds=10, **means):
    rng = np.random.default_rng(0)
    noise = 0.005 * rng.normal(size=(len(means), n_seeds))
    values = {
        parse(name): dict(enumerate(mean + each))
        for (name, mean), each in zip(means.items(), noise, strict=True)
    }
    table = summary_table(values, 1.0)
    winners = find_winners(values, metric, 1.0)
    return [winner_said(winner, list(values), table, metric) for winner in winners], table


def test_a_winner_is_named_with_its_lead():
    (words,), _ = said(erm=0.70, pooled=0.80)
    assert words.startswith(
        "Among methods that see at most inputs and labels of the validation set"
    )
    assert "pooled (79.8 %) is best" in words and "the second, ERM (70.0 %)" in words
    assert "by 9.7 points (95 % interval 8.0 to 11.5 points)." in words


def test_no_difference_is_said_with_those_that_beat_plain_training():
    (words,), _ = said(erm=0.70, iwerm=0.80, fire=0.801, onestep=0.6)
    assert "there is no difference between the best beyond noise: FIRE" in words
    assert "Better than plain training: IWERM, FIRE." in words
    assert "Worse than plain training: One-step." in words
    assert "None is better" not in words


def test_of_losses_less_is_better():
    (words,), _ = said("log_loss", erm=0.70, iwerm=0.5, fire=0.501)
    assert "Better than plain training: IWERM, FIRE." in words
    assert "Worse" not in words


def test_nothing_is_claimed_without_a_test():
    (words,), _ = said(n_seeds=5, erm=0.70, pooled=0.80)
    assert "has the best mean" in words and "no test was made" in words


def test_only_methods_of_a_regime_are_spoken_of():
    (first, second), _ = said(erm=0.70, iwerm=0.701, pooled=0.80)
    assert "pooled" not in first and "None is better" in first
    assert "pooled" in second


@pytest.mark.parametrize(("metric", "mean"), [("accuracy", "70."), ("log_loss", "0.7")])
def test_the_table_of_text_is_aligned(metric, mean):
    _, table = said(metric, erm=0.70, pooled=0.80)
    lines = text_table(table, metric).splitlines()
    at = lines[0].index(metric.replace("_", " "))
    assert lines[1][at:].startswith(mean) and lines[1][at - 2 : at] == "  "
    assert "+" in lines[2] and "+" not in lines[1]


def test_what_is_not_known_is_blank():
    assert amount("accuracy", math.nan) == "?"
    assert gap("balanced_accuracy", -0.01) == "-1.0 points"
    table = summary_table({parse("erm"): {0: 0.5}, parse("fire"): {}}, 1.0)
    assert text_table(table, "accuracy").splitlines()[1:] == [
        "ERM     none            1      50.0",
        "FIRE    unlabelled      0",
    ]


def test_a_method_that_never_differs_has_a_difference_of_nothing():
    same = {0: 0.5, 1: 0.6}
    table = summary_table({parse("erm"): same, parse("fire"): same}, 1.0)
    first, second = text_table(table, "accuracy").splitlines()[1:]
    assert "+0.0 [+0.0, +0.0]" in second and "+" not in first
