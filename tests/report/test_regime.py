from firecv.regimes import REGIMES
from firecv.report.fields import Fields
from firecv.report.regime import regime_section
from firecv.report.tables import Ids
from tests.report.samples import comparison, diagnosis
from tests.report.structure import parsed, table


def made(**parts):
    fields = {kind: Fields(f"{kind}.json", part) for kind, part in parts.items()}
    return regime_section(fields.get("diagnosis"), fields.get("comparison"), Ids())


def test_what_is_known_here_is_said_in_words():
    text = parsed(made(diagnosis=diagnosis())).text
    assert (
        "Here methods may use inputs and labels of the validation set (regime “labelled”)" in text
    )


def test_all_regimes_are_listed_with_the_methods_compared():
    rows = table(made(comparison=comparison()), "Regimes")[1:]
    assert [row[0] for row in rows] == [name.replace("_", " ") for name in REGIMES]
    assert [row[2] for row in rows] == ["ERM", "FIRE", "–", "RIWERM", "Pooled"]
