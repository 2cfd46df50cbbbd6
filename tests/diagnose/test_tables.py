from firecv.diagnose.advice import advise
from firecv.diagnose.alarms import GlobalTest
from firecv.diagnose.bound import marginal_bound
from firecv.diagnose.features import FeatureShift
from firecv.diagnose.fisher_distance import FisherDistance
from firecv.diagnose.fragments import FragmentShift, too_small
from firecv.diagnose.tables import feature_table, fragment_table, text
from firecv.statistics import Interval

BIG = FragmentShift(
    "A",
    5_000,
    100,
    100,
    "trees",
    auc=Interval(0.8, 0.7, 0.9),
    kl=Interval(0.3, 0.2, 0.4),
    gamma=Interval(0.5, 0.4, 0.6),
    p_value=0.001,
    adjusted_p_value=0.002,
    alarm=True,
    detectable_auc=0.6,
)
TINY = too_small("B", 3)


def feature(fragment, name, drop, low, column=""):
    importance = Interval(drop, low, 2 * drop)
    return FeatureShift(fragment, name, column or name, importance, Interval(1, 0, 2), 0.3)


FOUND = [
    feature("A", "age", 0.2, 0.1),
    feature("A", "town", 0.1, 0.01, "town=Ulm"),
    feature("A", "pulse", 0.01, -0.1),
    feature("B", "age", 0.3, 0.1),
]


def test_a_fragment_has_one_row_with_its_numbers():
    names = ("A", "B")
    table = fragment_table(
        [BIG, TINY],
        {name: FisherDistance(blank="none") for name in names},
        {"A": marginal_bound(0.5), "B": marginal_bound(float("nan"))},
    )
    assert table.loc[0, ["auc", "auc_low", "auc_high"]].tolist() == [0.8, 0.7, 0.9]
    assert table.loc[0, "bound_gamma_squared"] == 0.25
    assert table["gamma_below_one"].tolist() == [True, False]
    assert table["blank_fisher"].tolist() == ["none", "none"]
    assert table.loc[1, "blank"].startswith("3 rows")


def test_features_are_ranked_within_their_fragment():
    assert feature_table(FOUND)["rank"].tolist() == [1, 2, 3, 1]


def test_no_features_make_an_empty_table():
    assert feature_table([]).empty


def test_the_text_names_features_that_matter_and_no_others():
    whole = GlobalTest(50.0, 40.0, 0.2)
    said = text([BIG, TINY], FOUND, whole, advise([BIG, TINY], whole, "unlabelled", 0.05), 100)
    assert (
        "A differs in: age (AUC falls by 0.20), town (AUC falls by 0.10, most in town=Ulm)\n"
        in said
    )
    assert "0.80 [0.70, 0.90]" in said
    assert "3 rows; 10 or more are needed" in said
    assert "not found to differ (p = 0.2, 40.0 degrees of freedom)" in said
    assert "no more than 100 rows" in said


def test_the_text_says_why_there_is_no_global_test():
    whole = GlobalTest(blank="no labels")
    said = text([TINY], [], whole, advise([TINY], whole, "unlabelled", 0.05), 100)
    assert "not tested, no labels" in said
