"""Every federated algorithm with settings small enough for tests."""

from dataclasses import replace

from firecv.federated.algorithms import ALGORITHMS
from firecv.federated.algorithms.fire import Fire
from firecv.federated.algorithms.scaffold import SCAFFOLD
from firecv.federated.algorithms.weighed import Weighed
from firecv.federated.privacy import Private
from firecv.federated.schedule import for_run


def small(algorithm):
    """Return an algorithm with two short local epochs, for a run of three rounds."""
    return replace(
        for_run(algorithm, 3), local=replace(algorithm.local, n_epochs=2, batch_size=8, rate=0.05)
    )


CASES = {name: small(make()) for name, make in ({"fire": Fire} | ALGORITHMS).items()}
CASES |= {
    "fedfishr": replace(CASES["fedfishr"], strength=10.0),
    "fire labelled": CASES["fire"],
    "scaffold labelled": Weighed(small(SCAFFOLD())),
    "fire quadratic": replace(CASES["fire"], form="quadratic", every=2, strength=1.0),
    "scaffold weighed": Weighed(small(SCAFFOLD())),
    # Without noise, which is another in every run.
    "fire private": Private(CASES["fire"], 0.1, 0.0, clip_sketch=1.0),
}
SETTINGS = {
    "fedbn": {"norms": True},
    "fire": {"labelled": False},
    "scaffold weighed": {"labelled": False},
    "fire private": {"labelled": False},
}
