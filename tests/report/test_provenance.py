from firecv.report.fields import Fields
from firecv.report.provenance import provenance_section
from firecv.report.tables import Ids
from tests.report.samples import all_parts
from tests.report.structure import table


def made(**changes):
    parts = all_parts()
    parts["comparison"] |= changes
    fields = {kind: Fields(f"{kind}.json", part) for kind, part in parts.items()}
    return provenance_section(fields, Ids())


def test_data_settings_and_seeds_are_listed():
    facts = dict(table(made(), "Comparison of methods")[1:])
    assert facts["data"] == "folder/sites.csv" and facts["rows of fragments"] == "408"
    assert facts["seeds"] == "0, 1, 2" and facts["n epochs"] == "50"
    assert facts["hidden"] == "[64, 64]" and facts["jobs"] == "not set"
    assert facts["file"] == "comparison.json, version 1"


def test_commands_and_versions_are_shown_where_they_are_known():
    page = made(command="firecv compare a.csv", versions={"torch": "2.13.0"})
    facts = dict(table(page, "Comparison of methods")[1:])
    assert facts["command"] == "firecv compare a.csv" and facts["torch"] == "2.13.0"


def test_settings_do_not_overwrite_what_the_part_itself_says():
    facts = dict(table(made(settings={"metric": "other", "x": 1}), "Comparison of methods")[1:])
    assert facts["metric"] == "accuracy" and facts["x"] == "1"


def test_missing_parts_are_named():
    fields = {"federation": Fields("federation.json", all_parts()["federation"])}
    page = provenance_section(fields, Ids())
    assert "firecv diagnose" in page and "firecv compare" in page
    assert "written with firecv" in page and "altair" in page
