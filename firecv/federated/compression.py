"""Diagonal Fishers made small for the wire.

| compression | what is sent per matrix of o x i entries | bytes, about |
| --- | --- | --- |
| none | all entries | 4 o i |
| 8bit | entries in 256 steps of the largest of each block of 256, rounded at random | 1.02 o i |
| topk | the largest 1 % with their places, and the mean of all others | 0.08 o i |
| lowrank | the best approximation of rank 4, by two factors | 16 (o + i) |

Entries stay at or above zero. "8bit" is unbiased: its expectation is what was sent. The sketch of
`firecv.fire.summaries` is smaller still but is not turned back into a diagonal.
"""

from collections.abc import Callable
from typing import Final, Literal, NamedTuple, get_args

import torch
from torch import Tensor

from firecv.errors import DataError
from firecv.federated.bundles import n_bytes
from firecv.tree import Tree

Compression = Literal["none", "8bit", "topk", "lowrank"]
COMPRESSIONS: tuple[Compression, ...] = get_args(Compression)

BLOCK: Final = 256
TOP_RATE: Final = 0.01
RANK: Final = 4


class Cost(NamedTuple):
    """What a compression costs and loses.

    Attributes
    ----------
    n_bytes
        Of what is sent.
    error
        Euclidean distance of what arrives from what was sent, over the norm of that.
    """

    n_bytes: int
    error: float


def packed(entries: Tree, compression: Compression, rng: torch.Generator) -> Tree:
    """Return the arrays to send.

    Parameters
    ----------
    entries
        Of a diagonal Fisher, none negative.
    compression
        How; "none" sends them as they are.
    rng
        Rounds "8bit".

    Examples
    --------
    >>> rng = torch.Generator().manual_seed(0)
    >>> sent = packed({"w": torch.tensor([0.0, 0.5, 1.0])}, "8bit", rng)
    >>> sent["8bit/w"].dtype, unpacked(sent)["w"].tolist()
    (torch.uint8, [0.0, 0.501960813999176, 1.0])
    """
    if compression not in COMPRESSIONS:
        raise DataError(f"compression is {compression!r}; expected one of {COMPRESSIONS}")
    if compression == "none":
        return entries
    for name, value in entries.items():
        if not bool((value.isfinite() & (value >= 0)).all()):
            raise DataError(f"{name!r} of a diagonal Fisher holds negative or infinite entries")
    pack = _PACK[compression]
    return {
        f"{part}/{name}": value
        for name, matrix in entries.items()
        for part, value in pack(matrix, rng).items()
    }


def unpacked(sent: Tree) -> Tree:
    """Return the entries that `packed` was called on, as far as they were sent.

    Parameters
    ----------
    sent
        What it returned; checked, since it may come from anybody.
    """
    parts = {key: key.partition("/") for key in sent}
    if not any(part in _UNPACK for part, _, _ in parts.values()):
        return sent
    return {
        name: _checked(_UNPACK[part], sent, name, sent[key])
        for key, (part, _, name) in parts.items()
        if part in _UNPACK
    }


def cost(entries: Tree, compression: Compression, rng: torch.Generator) -> Cost:
    """Return bytes and error of a compression.

    Parameters
    ----------
    entries, compression, rng
        As for `packed`.

    Examples
    --------
    >>> rng = torch.Generator().manual_seed(0)
    >>> entries = {"w": torch.rand(300, 200, generator=rng)}
    >>> found = cost(entries, "8bit", rng)
    >>> found.n_bytes, found.error < 0.005
    (60956, True)
    """
    sent = packed(entries, compression, rng)
    back = unpacked(sent)
    away = sum(float((back[name] - value).square().sum()) for name, value in entries.items())
    norm = sum(float(value.square().sum()) for value in entries.values())
    return Cost(n_bytes({"fisher": sent}), (away / norm) ** 0.5 if norm else 0.0)


def _eight_bit(matrix: Tensor, rng: torch.Generator) -> Tree:
    flat = matrix.detach().flatten().float()
    blocks = torch.nn.functional.pad(flat, (0, -len(flat) % BLOCK)).view(-1, BLOCK)
    scales = blocks.amax(1, keepdim=True)
    steps = blocks / scales.clamp_min(torch.finfo(torch.float32).tiny) * 255
    steps = (steps + torch.rand(steps.shape, generator=rng)).floor().clamp_(0, 255)
    return {
        "8bit": steps.to(torch.uint8).flatten()[: len(flat)],
        "8bit-scales": scales.flatten(),
        "8bit-shape": torch.tensor(matrix.shape, dtype=torch.int64),
    }


def _from_eight_bit(sent: Tree, name: str, steps: Tensor) -> Tensor:
    scales, shape = sent[f"8bit-scales/{name}"], sent[f"8bit-shape/{name}"].tolist()
    each = scales.repeat_interleave(BLOCK)[: len(steps)]
    return (steps.float() / 255 * each).view(*shape)


def _topk(matrix: Tensor, rng: torch.Generator) -> Tree:
    flat = matrix.detach().flatten().float()
    n_kept = max(1, round(TOP_RATE * len(flat)))
    values, places = flat.topk(n_kept, sorted=False)
    rest = (flat.sum() - values.sum()).clamp_min(0) / max(len(flat) - n_kept, 1)
    return {
        "topk": values,
        "topk-places": places.to(torch.int32),
        "topk-rest": rest,
        "topk-shape": torch.tensor(matrix.shape, dtype=torch.int64),
    }


def _from_topk(sent: Tree, name: str, values: Tensor) -> Tensor:
    shape = sent[f"topk-shape/{name}"].tolist()
    flat = torch.full((_product(shape),), float(sent[f"topk-rest/{name}"]))
    flat[sent[f"topk-places/{name}"].long()] = values
    return flat.view(*shape)


def _lowrank(matrix: Tensor, rng: torch.Generator) -> Tree:
    flat = matrix.detach().float()
    if flat.ndim < 2 or min(len(flat), flat[0].numel()) <= RANK:
        return {"lowrank-whole": flat}
    u, s, v = torch.linalg.svd(flat.flatten(1), full_matrices=False)
    return {
        "lowrank": u[:, :RANK] * s[:RANK],
        "lowrank-right": v[:RANK].contiguous(),
        "lowrank-shape": torch.tensor(matrix.shape, dtype=torch.int64),
    }


def _from_lowrank(sent: Tree, name: str, left: Tensor) -> Tensor:
    shape = sent[f"lowrank-shape/{name}"].tolist()
    return (left @ sent[f"lowrank-right/{name}"]).clamp_min(0).view(*shape)


def _whole(sent: Tree, name: str, value: Tensor) -> Tensor:
    return value


def _product(shape: list[int]) -> int:
    size = 1
    for n in shape:
        size *= n
    return size


def _checked(
    unpack: Callable[[Tree, str, Tensor], Tensor], sent: Tree, name: str, value: Tensor
) -> Tensor:
    try:
        found = unpack(sent, name, value)
    except (KeyError, RuntimeError, IndexError, ValueError) as error:
        raise DataError(f"a compressed Fisher is malformed at {name!r}: {error}") from error
    if not bool((found.isfinite() & (found >= 0)).all()):
        raise DataError(f"{name!r} of a compressed Fisher holds negative or infinite entries")
    return found


_PACK: dict[str, Callable[[Tensor, torch.Generator], Tree]] = {
    "8bit": _eight_bit,
    "topk": _topk,
    "lowrank": _lowrank,
}
_UNPACK: dict[str, Callable[[Tree, str, Tensor], Tensor]] = {
    "8bit": _from_eight_bit,
    "topk": _from_topk,
    "lowrank": _from_lowrank,
    "lowrank-whole": _whole,
}
