"""Pages of the documentation that are written from what is stored."""

import json
from pathlib import Path

from firecv.experiments import catalogue
from firecv.experiments.claims import Evidence, render_claims
from firecv.experiments.collect import Holdings
from firecv.experiments.evidence import render_evidence


def pages(holdings: Holdings, memory: Path | None = None) -> dict[str, str]:
    """Return the pages by file name.

    Parameters
    ----------
    holdings
        What is stored.
    memory
        Rows of the benchmark that measured the memory of Fisher estimates, if there are any.
    """
    measured = _memory(memory) if memory is not None and memory.is_file() else {}
    evidences: list[Evidence] = []
    for protocol in catalogue.PROTOCOLS:
        tables = {name: catalogue.table(name, protocol) for name in catalogue.TABLES}
        held = {name: holdings.measured(table.cells) for name, table in tables.items()}
        evidences.append(Evidence(protocol, tables, held, measured))
    return {"claims.md": render_claims(evidences), "evidence.md": render_evidence(holdings)}


def _memory(file: Path) -> dict[int, float]:
    """Return peak memory in MiB by number of samples, from a benchmark's rows."""
    rows = json.loads(file.read_text(encoding="utf-8"))
    return {
        int(row["case"].rpartition(" ")[2]): float(row["value"])
        for row in rows
        if row["metric"] == "stream_memory_mb" and row["method"] == "firecv"
    }
