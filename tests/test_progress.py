import sys

import pytest

from firecv.progress import bar


def test_a_terminal_sees_what_is_being_done(monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    with bar("training", total=4, done=1) as advance:
        advance(3, "loss 0.25")
    assert "loss 0.25" in (shown := capsys.readouterr().err)
    assert "4/4" in shown


@pytest.mark.parametrize("shown", [True, False])
def test_nothing_is_shown_where_nobody_looks(shown, capsys):
    with bar("training", total=1, shown=shown) as advance:
        advance(1, None)
    assert capsys.readouterr().err == ""
