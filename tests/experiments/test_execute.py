from importlib.metadata import version

import torch

from firecv.errors import DataError
from firecv.experiments.execute import Failed, execute
from firecv.experiments.spec import Run
from firecv.experiments.store import Record
from tests.experiments.toys import Toy


def test_a_record_says_what_it_took_and_with_what():
    record = execute(Run(Toy("a"), 2, 3))
    assert isinstance(record, Record)
    assert record.columns["seed"] == [2, 3, 4]
    assert record.seconds >= 0 and record.peak_mb > 10
    assert record.versions["torch"] == version("torch")
    assert record.finished.endswith("+00:00")


def test_errors_come_back_with_the_reason(monkeypatch):
    assert execute(run := Run(Toy("a", fault="no luck"), 0, 1)) == Failed(
        run, "RuntimeError: no luck"
    )

    def refuse(self, seeds):
        raise DataError("bad data")

    monkeypatch.setattr(Toy, "measure", refuse)
    assert execute(run) == Failed(run, "bad data")


def test_other_seeds_than_asked_for_are_a_failure(monkeypatch):
    monkeypatch.setattr(Toy, "measure", lambda self, seeds: {"seed": [9]})
    found = execute(Run(Toy("a"), 0, 1))
    assert isinstance(found, Failed) and "returned seeds [9]" in found.why


def test_threads_are_as_before():
    before = torch.get_num_threads()
    execute(Run(Toy("a"), 0, 1))
    assert torch.get_num_threads() == before
