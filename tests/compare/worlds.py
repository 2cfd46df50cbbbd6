"""Small data of a made user."""

import numpy as np
import pandas as pd

from firecv.data.own import own

QUICK = {"n_epochs": 3, "hidden": (4,)}


def frame(n, seed=0, shift=0.0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(n, 3)) + shift, columns=list("abc"))
    table["town"] = pd.Categorical(rng.choice(["Ulm", "Bonn"], n))
    table["site"] = np.array(["north", "south", "west"])[np.arange(n) % 3]
    table["ill"] = np.where(table["a"] + 0.5 * rng.normal(size=n) > 0, "yes", "no")
    return table


def without_shift(n=90, n_val=60, seed=0):
    """Return three sites and a validation set, all of one law."""
    return own(frame(n, seed), target="ill", fragment="site", validation=frame(n_val, seed + 1000))


def labels_help(n=90, n_val=200, seed=0):
    """Return a validation set elsewhere, where another feature decides: only its labels tell."""
    held = frame(n_val, seed + 1000, shift=4.0)
    held["ill"] = np.where(held["b"] > 4, "yes", "no")
    return own(frame(n, seed), target="ill", fragment="site", validation=held)


def nothing_to_learn(n=40, n_val=60, seed=0):
    """Return labels drawn by coin: every model is right half of the time."""
    rng = np.random.default_rng([seed, 7])
    train, held = frame(n, seed), frame(n_val, seed + 1000)
    train["ill"], held["ill"] = (rng.choice(["no", "yes"], len(t)) for t in (train, held))
    return own(train, target="ill", fragment="site", validation=held)
