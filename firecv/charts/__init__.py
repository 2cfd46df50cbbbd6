"""Every chart once. Charts take plain numbers; what draws them comes with the extra `report`.

Pictures of a fixed make are drawn with matplotlib and written by `save`; charts of tidy frames are
drawn with Altair and written by `save_chart`.
"""

from firecv.charts.bars import bars
from firecv.charts.comparison import methods_by_regime
from firecv.charts.contact_sheet import column_sheet, image_sheet
from firecv.charts.figure import save
from firecv.charts.fisher import fragments_against_validation
from firecv.charts.heatmap import heatmap
from firecv.charts.intervals import intervals
from firecv.charts.lines import lines
from firecv.charts.saving import save_chart
from firecv.charts.theme import theme, themed

__all__ = [
    "bars",
    "column_sheet",
    "fragments_against_validation",
    "heatmap",
    "image_sheet",
    "intervals",
    "lines",
    "methods_by_regime",
    "save",
    "save_chart",
    "theme",
    "themed",
]
