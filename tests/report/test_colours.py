import pytest

from firecv.charts.matrix import DEEPEST
from firecv.report.colours import DARK, LIGHT, palette


def channels(colour):
    return [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]


def luminance(parts):
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.fixture(params=[LIGHT, DARK], ids=["light", "dark"])
def colours(request):
    return {name: channels(colour) for name, colour in request.param.items()}


@pytest.mark.parametrize(
    ("text", "behind"),
    [
        *[(text, behind) for text in ("ink", "muted", "link") for behind in ("page", "panel")],
        *[(tone, f"{tone}-panel") for tone in ("good", "warn", "bad")],
    ],
)
def test_text_is_readable(colours, text, behind):
    assert contrast(colours[text], colours[behind]) >= 4.5


def test_numbers_are_readable_on_the_deepest_field(colours):
    field = [
        DEEPEST * a + (1 - DEEPEST) * b
        for a, b in zip(colours["series-0"], colours["panel"], strict=True)
    ]
    assert contrast(colours["ink"], field) >= 4.5


@pytest.mark.parametrize("mark", [name for name in LIGHT if name.startswith("series")])
def test_marks_stand_out(colours, mark):
    assert contrast(colours[mark], colours["panel"]) >= 3


@pytest.mark.parametrize("border", ["focus", "strong-line"])
def test_borders_of_controls_stand_out(colours, border):
    assert min(contrast(colours[border], colours[at]) for at in ("page", "panel")) >= 3


def test_both_palettes_have_the_same_names():
    assert LIGHT.keys() == DARK.keys()
    assert len(set(LIGHT.values())) == len(LIGHT)


def test_print_is_always_light():
    light, preferred, chosen = palette().splitlines()
    assert light.startswith(":root{color-scheme:light")
    assert preferred.startswith("@media screen") and chosen.startswith("@media screen")
