import numpy as np
import pandas as pd
import pytest

from firecv.charts.matrix import DEEPEST, FAINTEST, MOST_NUMBERS, matrix

WORDS = {"title": "Title", "x_label": "fragment", "label": "AUC"}


def drawn(n=2, **settings):
    frame = pd.DataFrame(
        {
            "a": [f"site {i}" for i in range(n)] * 2,
            "b": ["north"] * n + ["south"] * n,
            "auc": [0.6] * (2 * n - 1) + [np.nan],
        }
    )
    chart = matrix(frame, x="a", y="b", value="auc", domain=(0.5, 1.0), **WORDS, **settings)
    return chart.to_dict()


def test_fields_stand_in_the_order_of_the_frame_and_hold_their_numbers():
    chart = drawn()
    fields, numbers = chart["layer"]
    assert (fields["mark"]["type"], numbers["mark"]["type"]) == ("rect", "text")
    for channel, name, order in (("x", "a", ["site 0", "site 1"]), ("y", "b", ["north", "south"])):
        assert fields["encoding"][channel]["field"] == name
        assert fields["encoding"][channel]["sort"] == order
    assert numbers["encoding"]["text"]["field"] == "auc"
    assert fields["encoding"]["x"]["axis"]["title"] == "fragment" and chart["title"] == ["Title"]


def test_the_ends_of_the_scale_are_those_given():
    scale = drawn()["layer"][0]["encoding"]["opacity"]["scale"]
    assert scale["domain"] == [0.5, 1.0] and scale["range"] == [FAINTEST, DEEPEST]
    assert scale["clamp"] is True


def test_what_is_not_known_is_a_field_without_a_number():
    chart = drawn()
    assert chart["layer"][1]["transform"] == [{"filter": {"field": "auc", "valid": True}}]
    (values,) = chart["datasets"].values()
    assert values[-1]["auc"] is None


@pytest.mark.parametrize(("n", "n_layers"), [(MOST_NUMBERS, 2), (MOST_NUMBERS + 1, 1)])
def test_many_columns_have_a_legend_instead_of_numbers(n, n_layers):
    layers = drawn(n)["layer"]
    assert len(layers) == n_layers
    legend = layers[0]["encoding"]["opacity"].get("legend")
    assert (legend is None) == (n_layers == 2)
    assert legend is None or legend["title"] == "AUC"
