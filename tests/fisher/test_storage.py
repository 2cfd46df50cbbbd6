"""Files: there and back, and every way a file can be wrong."""

import pickle
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from firecv.errors import FileFormatError
from firecv.fisher import STRUCTURES, Diagonal, as_matrix, estimate, load, save
from firecv.fisher.storage import encoded
from firecv.models import Task
from tests.cases import make_case


@pytest.mark.parametrize("structure", STRUCTURES.values(), ids=STRUCTURES)
@pytest.mark.parametrize("name", ["table", "batch_norm", "linear"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_there_and_back(structure, name: str, dtype: torch.dtype, tmp_path: Path) -> None:
    case = make_case(name, dtype=dtype)
    fisher = estimate(structure, case.task, [(case.x, case.y)], law="exact")
    save(fisher, tmp_path / "f.fisher")
    again = load(tmp_path / "f.fisher")
    assert type(again) is structure
    params = {n: p.detach() for n, p in case.task.parameters().items()}
    assert as_matrix(again, params).dtype == dtype
    torch.testing.assert_close(as_matrix(again, params), as_matrix(fisher, params))
    later = fisher + again  # goes on where it was left
    torch.testing.assert_close(later.trace(), 2 * fisher.trace())


def good(path: Path) -> bytes:
    save(Diagonal({"w": torch.ones(20)}), path)
    return path.read_bytes()


@pytest.mark.parametrize("keep", [0, 3, 8, 40, -1])
def test_a_truncated_file(keep: int, tmp_path: Path) -> None:
    path = tmp_path / "f.fisher"
    path.write_bytes(good(path)[:keep])
    with pytest.raises(FileFormatError, match="truncated or not a safetensors file"):
        load(path)


def test_a_pickle_is_never_opened(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "sprung",))

    path = tmp_path / "f.fisher"
    path.write_bytes(pickle.dumps(Trap()))
    with pytest.raises(FileFormatError):
        load(path)
    torch.save({"w": torch.ones(3)}, path)
    with pytest.raises(FileFormatError):
        load(path)
    assert not (tmp_path / "sprung").exists()


def test_someone_elses_safetensors(tmp_path: Path) -> None:
    save_file({"w": torch.ones(2)}, tmp_path / "f")
    with pytest.raises(FileFormatError, match="not a Fisher of ours"):
        load(tmp_path / "f")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"version": "99"}, "version '99'"),
        ({"structure": "circular"}, "unknown structure 'circular'"),
        ({"structure": "kronecker"}, "lacks arrays of a kronecker"),
        ({"structure": "dense"}, "lacks arrays of a dense"),
        ({"structure": "scalar"}, "lacks arrays of a scalar"),
    ],
)
def test_ours_but_not_right(change: dict[str, str], reason: str, tmp_path: Path) -> None:
    metadata = {"format": "firecv-fisher", "version": "1", "structure": "diagonal"} | change
    save_file({"w": torch.ones(2)}, tmp_path / "f", metadata)
    with pytest.raises(FileFormatError, match=reason):
        load(tmp_path / "f")


def test_the_same_fisher_is_the_same_bytes(tmp_path: Path) -> None:
    contents = {good(tmp_path / f"{k}.fisher") for k in range(20)}
    assert len(contents) == 1


@pytest.mark.parametrize("name", ["w", 'a"b\\c', "grüße\x01\x7f\u2028", "x" * 999])
def test_whatever_names_and_metadata_hold_they_come_back(name: str, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(encoded({name: torch.ones(3)}, {name: name, "b": "1", "a": "2"}))
    with safe_open(tmp_path / "f", framework="pt") as file:
        assert file.metadata() == {name: name, "b": "1", "a": "2"}
        assert torch.equal(file.get_tensor(name), torch.ones(3))


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="there is no file"):
        load(tmp_path / "nothing")


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f.fisher"
    before = good(path)

    def fail(file):
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        save(Diagonal({"w": torch.zeros(20)}), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("structure", STRUCTURES.values(), ids=STRUCTURES)
def test_names_may_hold_any_character(structure, tmp_path: Path) -> None:
    model = torch.nn.ModuleDict({"a:b+c/d": torch.nn.Linear(2, 2)})
    model.forward = lambda x: model["a:b+c/d"](x)
    task = Task(model.eval())
    x, y = torch.randn(4, 2), torch.tensor([0, 1, 0, 1])
    fisher = estimate(structure, task, [(x, y)], law="exact")
    save(fisher, tmp_path / "f")
    again = load(tmp_path / "f")
    params = {n: p.detach() for n, p in task.parameters().items()}
    torch.testing.assert_close(as_matrix(again, params), as_matrix(fisher, params))
