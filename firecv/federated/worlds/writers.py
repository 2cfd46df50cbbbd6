"""Digits by those who wrote them: a shift that nobody made."""

import numpy as np

from firecv.data.arrays import Arrays
from firecv.errors import DataError
from firecv.federated.worlds.parts import Sizes, World, client, made

FIRST_STUDENT = 2000
"""Writers from here on were pupils of a high school, those before employees of the Census."""
STUDENT_RATE = 0.3
"""Share of the clients that hold pupils' digits."""
HELD_OUT_RATE = 0.4
"""Share of the pupils whose digits are V and the test, and nobody else's."""


def writers(images: Arrays, sizes: Sizes, rng: np.random.Generator) -> World:
    """Return clients with the digits of some writers each; V and the test are other pupils'.

    Seven clients in ten hold digits of employees, three those of pupils. The images carry the tag
    "writer", as those of ``mnist_by_writer`` do.
    """
    if "writer" not in images.tags:
        raise DataError(
            f"got images tagged {', '.join(images.tags) or 'with nothing'}; the world 'writers' "
            f"needs the tag 'writer', as mnist_by_writer has it"
        )
    writer = np.asarray(images.tags["writer"])
    people = rng.permutation(np.unique(writer))
    pupils, employees = people[people >= FIRST_STUDENT], people[people < FIRST_STUDENT]
    n_held = round(HELD_OUT_RATE * len(pupils))
    n_pupils = max(1, round(STUDENT_RATE * sizes.n_clients))
    groups = [
        *np.array_split(employees, sizes.n_clients - n_pupils),
        *np.array_split(pupils[n_held:], n_pupils),
    ]
    n_each = sizes.n_train // sizes.n_clients
    parts = [_of(images, writer, group, n_each, rng) for group in groups]
    rest = _of(images, writer, pupils[:n_held], sizes.n_rest, rng)
    clients = [client(np.asarray(part.x), part.y) for part in parts]
    return made(clients, np.asarray(rest.x), rest.y, sizes.n_validation)


def _of(
    images: Arrays, writer: np.ndarray, people: np.ndarray, n: int, rng: np.random.Generator
) -> Arrays:
    """Return at most so many images of these people, in random order."""
    rows = np.flatnonzero(np.isin(writer, people))
    return images.take(rng.permutation(rows)[:n])
