"""Masked uploads from the command line."""

import json
import sys

import pytest

from firecv import cli
from firecv.federated.secure import Secure
from firecv.federated.simulation import Simulation, build

QUICK = ("digits", "--fragments", "iid:n=3", "--epochs", "1", "--rounds", "2", "--json")


@pytest.fixture
def command(monkeypatch, capsys, tmp_path):
    """Return a function that runs a command: exit code, and what it says."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FIRECV_CACHE", str(tmp_path / "cache"))

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["firecv", "federated", "simulate", *words])
        try:
            code = cli.main()
        except SystemExit as stop:
            code = stop.code or 0
        return code, capsys.readouterr()

    return run


@pytest.mark.filterwarnings("ignore:secure aggregation hides")
def test_masked_uploads_on_the_command_line(command):
    code, said = command(*QUICK, "--secure")
    _, clear = command(*QUICK)
    masked, clear = json.loads(said.out), json.loads(clear.out)
    assert code == 0
    assert masked["result"]["test"] == pytest.approx(clear["result"]["test"], abs=1e-3)
    up, plain = (found["records"][-1]["bytes_up"] for found in (masked, clear))
    assert 2 < up / plain < 2.01


def test_what_does_not_go_with_masks_is_said_in_words(command):
    code, said = command(*QUICK, "--secure", "--rule", "median")
    assert code == 1 and "choose rule='mean'" in said.err and "Traceback" not in said.err


@pytest.mark.filterwarnings("ignore:secure aggregation hides")
def test_a_simulation_has_the_settings_of_masks():
    secure = Secure(0.8, 32, 16.0)
    assert build(Simulation("digits", fragments="iid:n=3", secure=secure)).plan.secure == secure
