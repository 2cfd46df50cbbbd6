"""A small table of a user, and how it is written in every format."""

import numpy as np
import pandas as pd

FRAME = pd.DataFrame(
    {
        "id": range(1, 13),
        "age": [41.5, 27, 33, np.nan, 58, 60, 19, 22, 35, 47, 52, 30],
        "sex": ["f", "m", None, "f", "m", "m", "f", "f", "m", "f", "m", "f"],
        "code": [1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3],
        "site": ["B", "A", "A", "B"] * 3,
        "seen": [f"2024-0{1 + i // 4}-1{i % 4}" for i in range(12)],
        "ill": ["yes", "no", "no"] * 4,
    }
)
OPTIONS = {"target": "ill", "categorical": ["code"], "drop": ["id"]}


def write_npz(frame, path):
    arrays = {name: column.to_numpy() for name, column in frame.items()}
    # npz holds text only as fixed-width text, in which nothing can be missing.
    texts = {name for name, values in arrays.items() if values.dtype == object}
    np.savez(path, **{k: v.astype("U") if k in texts else v for k, v in arrays.items()})


WRITERS = {
    "own.csv": lambda frame, path: frame.to_csv(path, index=False),
    "own.CSV": lambda frame, path: frame.to_csv(path, index=False),
    "own.csv.gz": lambda frame, path: frame.to_csv(path, index=False, compression="gzip"),
    "own.tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "own.txt": lambda frame, path: frame.to_csv(path, index=False, sep=";"),
    "own.parquet": lambda frame, path: frame.to_parquet(path),
    "own.arrow": lambda frame, path: frame.to_feather(path),
    "own.feather": lambda frame, path: frame.to_feather(path),
    "own.npz": write_npz,
}


def written(frame, path):
    WRITERS[path.name](frame, path)
    return path


def assert_same(one, other):
    assert list(one.fragments) == list(other.fragments)
    assert (one.validation is None) == (other.validation is None)
    pairs = [(one.fragments[name], other.fragments[name]) for name in one.fragments]
    for a, b in pairs + ([] if one.validation is None else [(one.validation, other.validation)]):
        assert a.classes == b.classes
        np.testing.assert_array_equal(a.y, b.y)
        pd.testing.assert_frame_equal(a.x, b.x)
        assert a.tags.keys() == b.tags.keys()
        for name in a.tags:
            np.testing.assert_array_equal(a.tags[name], b.tags[name])
