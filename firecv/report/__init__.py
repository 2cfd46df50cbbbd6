"""The report: one self-contained HTML page from what the commands found."""

from firecv.report.keeping import keep
from firecv.report.page import report, write_report

__all__ = ["keep", "report", "write_report"]
