"""Per-sample gradients of one layer, in factored form: one file per kind of layer."""
