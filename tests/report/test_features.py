import json

from firecv.report.features import MOST_DRAWN, MOST_FRAGMENTS, MOST_LISTED, features_section
from firecv.report.fields import Fields
from firecv.report.tables import Ids
from tests.report.samples import diagnosis, feature, fragment
from tests.report.structure import parsed, table


def made(**changes):
    return features_section(Fields("diagnosis.json", diagnosis() | changes), Ids())


def test_every_fragment_has_a_panel_that_the_control_names():
    root = parsed(made())
    options = [(node.attributes["value"], node.text) for node in root.all("option")]
    assert options == [("features-1", "Kiel: shift"), ("features-2", "Ulm: no shift found")]
    assert [root.by_id(value).all("h4")[0].text for value, _ in options] == ["Kiel", "Ulm"]
    (label,) = root.all("label")
    assert root.by_id(label.attributes["for"]).name == "select"


def test_the_table_has_effects_with_intervals():
    head, first, *_ = table(made(), "Features of Kiel")
    assert head[1].startswith("Importance") and head[2].startswith("Difference")
    assert first == ["age", "0.30 (0.25 to 0.35)", "1.20 (1.15 to 1.25)", "0.30"]


def test_the_overview_shows_all_fragments_by_importance():
    spec = json.loads(parsed(made()).all("script")[0].text)
    (values,) = spec["datasets"].values()
    assert values[0] == {"fragment": "Kiel", "feature": "age", "importance": 0.3}
    assert len(values) == 6
    assert spec["layer"][0]["encoding"]["opacity"]["scale"]["domain"] == [0.0, 0.3]


def test_many_features_are_cut_and_that_is_said():
    rows = [feature("Kiel", f"x{at}", at, 0.3 / at) for at in range(1, 100)]
    page = made(features=rows)
    assert len(table(page, "Features of Kiel")) == MOST_LISTED + 1
    assert f"{MOST_LISTED} of 99" in page
    (values,) = json.loads(parsed(page).all("script")[1].text)["datasets"].values()
    assert len(values) == MOST_DRAWN


def test_many_fragments_are_cut_and_that_is_said():
    names = [f"site {at}" for at in range(MOST_FRAGMENTS + 2)]
    page = made(
        fragments=[fragment(name, 0.6) for name in names],
        features=[feature(name, "age", 1, 0.1) for name in names],
    )
    assert page.count('class="fragment"') == MOST_FRAGMENTS and "2 more are in" in page


def test_features_that_were_not_shuffled_or_are_infinitely_far_have_dashes():
    row = feature("Kiel", "age", 1, 0.1)
    unknown = {key: None for key in row if key.startswith(("importance", "difference"))}
    page = made(features=[row | unknown])
    assert table(page, "Features of Kiel")[1] == ["age", "–", "–", "0.30"]
    assert "<figure>" not in page


def test_without_any_feature_that_is_said():
    assert "enough rows" in made(features=[])
