"""The progress bar is for people at a terminal."""

import io
import sys

import pytest

from firecv.estimators import FIREClassifier
from tests.estimators.worlds import QUICK, world


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    "stream, verbose, is_shown",
    [(Terminal, True, True), (Terminal, False, False), (io.StringIO, True, False)],
)
def test_progress_is_shown_to_those_who_look(monkeypatch, stream, verbose, is_shown):
    x, y, sites, *_ = world()
    screen = stream()
    monkeypatch.setattr(sys, "stderr", screen)
    FIREClassifier(form="trace", verbose=verbose, **QUICK).fit(x, y, fragments=sites)
    assert ("south: " in screen.getvalue()) == is_shown
    assert ("8/8" in screen.getvalue()) == is_shown
    assert is_shown or not screen.getvalue()
