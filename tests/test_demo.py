"""The demonstration, shortened: what it is about, what it says, and the page it writes."""

import json

import pytest

from firecv import demo


@pytest.fixture
def short(monkeypatch, tmp_path):
    """Make the demonstration short, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "METHODS", ("fire", "pooled"))
    for name, value in {"N_SEEDS": 2, "N_EPOCHS": 1, "N_ROUNDS": 2}.items():
        monkeypatch.setattr(demo, name, value)
    return tmp_path / demo.FOLDER


def test_every_digit_is_in_one_place():
    sites, validation = demo.tables()
    assert len(sites) + len(validation) == 1797 and len(validation) == demo.N_VALIDATION
    assert set(sites["site"]) == set(demo.SITES)
    assert sites.groupby("site").size().min() > 100
    assert not validation.equals(demo.tables(seed=1)[1])


def test_it_answers_three_questions_and_names_the_page(short, capsys):
    assert demo.main() == 0
    said = capsys.readouterr().out
    for words in ("firecv diagnose", "Verdict: shift", "firecv compare", "FedAvg", "FIRE"):
        assert words in said
    assert said.rstrip().endswith(str(demo.FOLDER / "report.html"))
    for kind in ("diagnosis", "comparison", "federation"):
        assert json.loads((short / f"{kind}.json").read_text())["kind"] == kind
    page = (short / "report.html").read_text()
    assert all(name in page for name in demo.SITES)


def test_a_folder_that_cannot_be_made_is_a_message_not_a_traceback(short, capsys):
    short.write_text("a file in the way")
    assert demo.main() == 1
    assert "demo" in capsys.readouterr().err
