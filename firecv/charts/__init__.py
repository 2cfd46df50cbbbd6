"""Every chart once. Charts take plain numbers; matplotlib comes with the extra `report`."""

from firecv.charts.comparison import methods_by_regime
from firecv.charts.contact_sheet import column_sheet, image_sheet
from firecv.charts.figure import save
from firecv.charts.fisher import fragments_against_validation

__all__ = [
    "column_sheet",
    "fragments_against_validation",
    "image_sheet",
    "methods_by_regime",
    "save",
]
