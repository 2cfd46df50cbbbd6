from firecv.experiments.kinds.image_costs import cost


def test_choosing_costs_more_than_a_given_strength():
    assert cost("l2", None, "mlp", 1000) > 10 * cost("l2", 0.1, "mlp", 1000) > 0
