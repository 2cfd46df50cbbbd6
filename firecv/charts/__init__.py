"""Every chart once. Charts take plain numbers; matplotlib comes with the extra `report`."""

from firecv.charts.fisher import fragments_against_validation, save

__all__ = ["fragments_against_validation", "save"]
