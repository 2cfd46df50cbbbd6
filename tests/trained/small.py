"""A small table of a user with everything in it, and a model of it that takes no time."""

import numpy as np
import pandas as pd

from firecv.data.own import own
from firecv.trained import train

QUICK = ("hidden=4", "n_epochs=3", "rate=0.02")


def patients(n=120, seed=0, shift=0.0):
    rng = np.random.default_rng(seed)
    age = rng.normal(50 + 10 * shift, 10, n)
    frame = pd.DataFrame(
        {
            "site": rng.choice(["north", "south", "west"], n),
            "age": age,
            "dose": np.where(rng.random(n) < 0.2, np.nan, rng.exponential(size=n)),
            "sex": rng.choice(["f", "m"], n),
            "town": rng.choice(np.array(["Ulm", "Bonn", "Kiel", None], object), n),
            "code": rng.choice([9, 10, 11], n),
            "ward": "A",
        }
    )
    frame["ill"] = np.where(age + rng.normal(0, 3, n) > 55, "yes", "no")
    return frame


def fragmented(validation=None, **options):
    held = patients(60, seed=1, shift=0.7) if validation is None else validation
    options = {"target": "ill", "fragment": "site", "categorical": ["code"], **options}
    return own(patients(), validation=held, **options)


def trained(method="fire", settings=QUICK, **options):
    return train(fragmented(), method=method, settings=settings, target="ill", **options)
