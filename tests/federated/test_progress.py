"""The bar over rounds, on a terminal and elsewhere."""

import io
import sys

from firecv.federated.history import Record
from firecv.federated.progress import rounds_shown, words


def test_the_bar_names_accuracies_and_bytes():
    record = Record(
        1,
        scores={"validation_accuracy": 0.5, "validation_loss": 9.0},
        client_scores={0: {"accuracy": 0.25}},
    )
    assert words(record, 1_500_000) == "validation 50.0 %, client 25.0 %, 1.5 MB"


def test_the_bar_says_that_clients_were_not_weighed():
    assert words(Record(1, unweighed="LinAlgError"), 0) == "not weighed, 0.0 MB"


def test_where_nobody_looks_nothing_is_shown(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with rounds_shown(3, 0, progress=True) as show:
        show(Record(1))
    assert stream.getvalue() == ""


def test_on_a_terminal_there_is_a_bar(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    with rounds_shown(5, 2, progress=True) as show:
        show(Record(3, bytes_up=10**6, scores={"test_accuracy": 0.9}))
        show(Record(4, bytes_up=10**6, scores={"test_accuracy": 0.95}))
    assert "test 95.0 %, 2.0 MB" in stream.getvalue() and "4/5" in stream.getvalue()
