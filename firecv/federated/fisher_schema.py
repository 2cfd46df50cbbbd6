"""What a Fisher that a client sends must be like: of one structure, of this model, and a Fisher.

Names, shapes and types are those of a Fisher that the server makes itself. Matrices must be
symmetric and positive semi-definite, diagonals at or above zero.
"""

import torch
from torch import Tensor

from firecv.errors import FirecvError, ModelError
from firecv.federated.bundles import Bundle, tree_of
from firecv.federated.compression import Compression, packed, unpacked
from firecv.federated.schema import ROUNDING, Check, is_psd, like
from firecv.fire.validation import Validation
from firecv.fisher import estimate
from firecv.fisher.recorder import eval_mode
from firecv.fisher.structures import STRUCTURES
from firecv.models import Task, batches
from firecv.tree import Tree


def fisher_of(
    structure: str, compression: Compression, task: Task, server: Bundle, holder: Validation
) -> Check:
    """Return a check for a Fisher of the model as it is sent.

    Parameters
    ----------
    structure
        A key of `STRUCTURES`.
    compression
        How a diagonal one is sent.
    task, server
        The model and the server's state, which has its weights.
    holder
        What the server sees of V; a Kronecker Fisher needs the shape of its samples.

    Examples
    --------
    >>> task = Task(torch.nn.Linear(2, 2, bias=False))
    >>> server = {"weights": task.weights()}
    >>> check = fisher_of("diagonal", "none", task, server, Validation("none"))
    >>> check({"weight": torch.tensor([[1.0, -1.0], [0.0, 0.0]])}, 10)
    'has negative entries on its diagonal, which no Fisher has'
    """
    params = task.keep_trainable(tree_of(server, "weights"))
    own = _template(structure, task, params, holder)
    sent = packed(own, compression, torch.Generator().manual_seed(0))

    def check(part: Tree | float, n_samples: int) -> str | None:
        if not isinstance(part, dict):
            return "is a number, expected a Fisher"
        if (why := like(_as_long(sent, part) if structure == "lowrank" else sent)(part, 0)) or (
            why := _other_shapes(sent, part)
        ):
            return f"is no {structure} Fisher of this model: {why}"
        return _no_fisher(structure, part, params)

    return check


def check_can_be_told(structure: str, holder: Validation) -> None:
    """Raise `ModelError` unless the server can say what Fishers of this structure are like."""
    if structure == "kronecker" and holder.x is None:
        raise ModelError(
            "which layers of a model have Kronecker factors shows when a sample goes through it, "
            "and without V the server has none; give it V, or choose structure='diagonal'"
        )


def _template(structure: str, task: Task, params: Tree, holder: Validation) -> Tree:
    """Return a Fisher that the server makes itself; its values do not matter."""
    if structure != "kronecker":
        return STRUCTURES[structure].zeros(params).to_tree()
    check_can_be_told(structure, holder)
    assert holder.x is not None
    sample = torch.zeros_like(holder.x[:1])  # of V nothing is seen but its shape
    with eval_mode(task.model):
        found = estimate(STRUCTURES[structure], task, batches(sample), law="exact", weights=params)
    return found.to_tree()


def _as_long(own: Tree, part: Tree) -> Tree:
    """Return a low-rank template with as many vectors as were sent, up to its rank."""
    lengths = {len(v) for n, v in part.items() if n.startswith("vectors/") and v.ndim}
    n = min(max(lengths, default=0), int(own["rank"]))
    return {k: v if k == "rank" else v.new_zeros(n, *v.shape[1:]) for k, v in own.items()}


def _other_shapes(own: Tree, part: Tree) -> str | None:
    """Return which of the numbers that say how to read the others are not the model's."""
    for name, value in own.items():
        if value.dtype == torch.int64 and not torch.equal(value.cpu(), part[name].cpu()):
            return f"{name!r} is {part[name].tolist()}, expected {value.tolist()}"
    return None


def _no_fisher(structure: str, part: Tree, params: Tree) -> str | None:
    """Return why arrays of the right shapes are no Fisher."""
    try:
        arrays = unpacked(part)
        diagonal = STRUCTURES[structure].from_tree(arrays).diagonal()
    except (FirecvError, KeyError, RuntimeError, ValueError, IndexError) as error:
        return f"is no Fisher of this model: {error}"
    if diagonal.keys() != params.keys() or any(
        value.shape != params[name].shape for name, value in diagonal.items()
    ):
        return "is no Fisher of this model"
    if any(not bool((entries >= 0).all()) for entries in diagonal.values()):
        return "has negative entries on its diagonal, which no Fisher has"
    if structure == "kronecker" and not abs(float(arrays["mass"]) - 1) <= ROUNDING:
        return f"is made of samples of mass {float(arrays['mass']):g}, expected 1"
    if structure == "lowrank" and not _is_orthogonal(arrays):
        return "has vectors that are not orthogonal"
    for name, value in arrays.items():
        if _is_matrix(structure, name) and not is_psd(value):
            return f"is not positive semi-definite: {name!r}"
    return None


def _is_matrix(structure: str, name: str) -> bool:
    """Return whether an array is one of the positive semi-definite matrices of a structure."""
    if structure == "kronecker":
        return name.startswith(("inputs/", "outputs/"))
    return structure in ("dense", "block") and name.rpartition("\n")[2] == "matrix"


def _is_orthogonal(arrays: Tree) -> bool:
    rows = [v.flatten(1).double() for n, v in arrays.items() if n.startswith("vectors/")]
    gram: Tensor = torch.stack([each @ each.mT for each in rows]).sum(0)
    away = gram - gram.diagonal().diag()
    return not away.numel() or float(away.abs().max()) <= ROUNDING * float(gram.diagonal().max())
