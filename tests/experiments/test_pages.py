import json
import os
from pathlib import Path

import pytest

from firecv.experiments.collect import Holdings
from firecv.experiments.pages import pages
from firecv.experiments.store import Store

ROOT = Path(__file__).resolve().parents[2]


def test_memory_comes_from_the_benchmark(tmp_path: Path):
    rows = [
        {"case": f"stream {n}", "method": "firecv", "metric": "stream_memory_mb", "value": mb}
        for n, mb in ((600, 100.0), (60_000, 110.0))
    ]
    file = tmp_path / "fisher.json"
    file.write_text(json.dumps(rows))
    assert "100 MiB for 600 samples, 110 MiB for 60000" in pages(Holdings([]), file)["claims.md"]
    assert "MiB for" not in pages(Holdings([]), tmp_path / "absent")["claims.md"]


@pytest.mark.skipif(
    "FIRECV_DATA" not in os.environ,
    reason="pages say which data are not at hand; set FIRECV_DATA as when they were written",
)
def test_pages_in_the_docs_are_those_of_the_stored_results():
    memory = ROOT / "benchmarks" / "results" / "fisher.json"
    for name, words in pages(Holdings.of(Store(ROOT / "results")), memory).items():
        written = ROOT / "docs" / name
        assert written.read_text(encoding="utf-8") == words, f"run `firecv results pages`: {name}"
