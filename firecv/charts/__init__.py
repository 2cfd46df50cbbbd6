"""Every chart once. Charts take plain numbers; what draws them comes with the extra `report`.

Pictures of a fixed make are drawn with matplotlib and written by `save`; charts of tidy frames are
drawn with Altair and written by `save_chart`.
"""

from firecv.charts.bars import bars
from firecv.charts.contact_sheet import column_sheet, image_sheet
from firecv.charts.figure import save
from firecv.charts.heatmap import heatmap
from firecv.charts.influence import influence_chart
from firecv.charts.intervals import intervals
from firecv.charts.lines import lines
from firecv.charts.matrix import matrix
from firecv.charts.saving import save_chart
from firecv.charts.theme import theme, themed

__all__ = [
    "bars",
    "column_sheet",
    "heatmap",
    "image_sheet",
    "influence_chart",
    "intervals",
    "lines",
    "matrix",
    "save",
    "save_chart",
    "theme",
    "themed",
]
