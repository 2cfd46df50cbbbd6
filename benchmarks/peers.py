"""Other libraries' ways to the diagonal of the empirical Fisher, behind one common shape.

Every factory in ``PEERS`` takes a plain classifier in evaluation mode, its inputs (samples first)
and its integer labels.  It does all set-up once, on a copy where the library alters the model, and
returns a ``step`` without arguments.  One call of ``step`` is one mini-batch: forward, backward
and diagonal.  It returns two dictionaries keyed like ``model.named_parameters()``: the gradient of
the mean cross-entropy, and the mean over samples of the squared per-sample gradient.

The factories in ``KRONECKER_PEERS`` take the same and compute Kronecker factors in place of the
diagonal.  The libraries define and scale these factors differently: they serve for timing only.

Each library is imported inside its factory, so a missing one disables nothing but itself.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

Step = Callable[[], tuple[dict[str, Tensor], dict[str, Tensor]]]
KroneckerStep = Callable[[], tuple[dict[str, Tensor], dict[str, Any]]]

CHUNK_BYTES = 2**24
"""Most memory for the per-sample gradients of one parameter.

The allocator of glibc reuses blocks below 32 MiB, but takes larger ones afresh from the kernel
each time, and the page faults then cost more than the arithmetic.
"""


def vmap(model: nn.Sequential, x: Tensor, y: Tensor) -> Step:
    """Per-sample gradients by ``torch.func``: ``vmap`` over ``grad`` of a functional call.

    The gradient is the mean of the per-sample gradients.  The mini-batch goes through in chunks
    of bounded memory, which is faster than all at once.
    """
    params = {name: p.detach() for name, p in model.named_parameters()}
    chunks = _chunks(model, x, y)

    def loss(params: dict[str, Tensor], xi: Tensor, yi: Tensor) -> Tensor:
        logits = torch.func.functional_call(model, params, (xi.unsqueeze(0),))
        return cross_entropy(logits, yi.unsqueeze(0))

    per_sample = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))

    def step() -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        gradient: dict[str, Tensor] = {}
        diagonal: dict[str, Tensor] = {}
        for xs, ys in chunks:
            for name, g in per_sample(params, xs, ys).items():
                _add(gradient, name, g.sum(0))
                _add(diagonal, name, g.square_().sum(0))
        return _divide(gradient, len(y)), _divide(diagonal, len(y))

    return step


def opacus(model: nn.Sequential, x: Tensor, y: Tensor) -> Step:
    """Per-sample gradients by the ``GradSampleModule`` of Opacus.

    The gradient comes from the same backward.  Opacus records nothing for a layer in evaluation
    mode, so in the copy the layers that own parameters are put in training mode.  The mini-batch
    goes through in chunks of bounded memory, which is faster than all at once.
    """
    from opacus import GradSampleModule

    model = copy.deepcopy(model)
    for layer in _layers(model).values():
        layer.train()
    wrapped = GradSampleModule(model, loss_reduction="sum")
    params: dict[str, Any] = dict(model.named_parameters())
    chunks = _chunks(model, x, y)

    def step() -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        wrapped.zero_grad(set_to_none=True)
        diagonal: dict[str, Tensor] = {}
        for xs, ys in chunks:
            cross_entropy(wrapped(xs), ys, reduction="sum").backward()
            for name, p in params.items():
                _add(diagonal, name, p.grad_sample.square_().sum(0))
                p.grad_sample = None
        return _divide(_gradient(model), len(y)), _divide(diagonal, len(y))

    return step


def backpack(model: nn.Sequential, x: Tensor, y: Tensor) -> Step:
    """``SumGradSquared`` of BackPACK, with the gradient from the same backward.

    With a mean loss BackPACK squares gradients that are already divided by the number of samples,
    so its sum is multiplied by that number.  Only the layers with parameters are extended, which
    is enough for this extension.  Convolutions use BackPACK's memory-saving algorithm: it is not
    the default, but on a CPU about twice as fast.
    """
    from backpack import backpack as active
    from backpack import extend
    from backpack.core.derivatives.convnd import weight_jac_t_save_memory
    from backpack.extensions import SumGradSquared

    model = copy.deepcopy(model)
    for layer in _layers(model).values():
        extend(layer)
    params: dict[str, Any] = dict(model.named_parameters())
    extension = SumGradSquared()

    def step() -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        model.zero_grad(set_to_none=True)
        with active(extension), weight_jac_t_save_memory(True):
            cross_entropy(model(x), y).backward()
        diagonal = {name: p.sum_grad_squared.mul_(len(y)) for name, p in params.items()}
        return _gradient(model), diagonal

    return step


def nngeometry(model: nn.Sequential, x: Tensor, y: Tensor) -> Step:
    """``PMatDiag`` of NNGeometry on the log-likelihood of the given labels.

    NNGeometry itself offers no gradient of the parameters.  `_nngeometry_step` gets it in the same
    pass all the same.
    """
    from nngeometry.object import PMatDiag
    from nngeometry.object.vector import PVector

    compute, collection = _nngeometry_step(model, x, y, PMatDiag)

    def step() -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        gradient, matrix = compute()
        vector: Any = PVector(collection, vector_repr=matrix.get_diag().div_(len(y)))
        diagonal = {
            f"{layer}.{kind}": values
            for layer, pair in vector.to_dict().items()
            for kind, values in zip(("weight", "bias"), pair, strict=False)
        }
        return gradient, diagonal

    return step


def asdl(model: nn.Sequential, x: Tensor, y: Tensor) -> Step:
    """Diagonal empirical Fisher of ASDL (package ``asdfghjkl``), gradient from the same backward.

    For a convolution whose output map is small against its kernel ASDL silently leaves the exact
    formula: it sums squares over positions instead of squaring the sum.  That happens when
    ``out_size * (c_out + c_in * kh * kw) < c_out * c_in * kh * kw``.
    """
    from asdl import SHAPE_DIAG

    compute, layers = _asdl_step(model, x, y, SHAPE_DIAG)

    def step() -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        gradient = compute()
        diagonal = {
            f"{name}.{kind}": values
            for name, layer in layers.items()
            for kind, values in zip(("weight", "bias"), layer.fisher.diag.data, strict=False)
        }
        return gradient, diagonal

    return step


def backpack_kronecker(model: nn.Sequential, x: Tensor, y: Tensor) -> KroneckerStep:
    """``KFAC`` of BackPACK with one Monte-Carlo label per sample, gradient in the same backward.

    BackPACK has no Kronecker factors of the empirical Fisher; this is its cheapest variant.
    """
    from backpack import backpack as active
    from backpack import extend
    from backpack.extensions import KFAC

    model = copy.deepcopy(model)
    extend(model)
    loss = extend(nn.CrossEntropyLoss())
    params: dict[str, Any] = dict(model.named_parameters())
    extension = KFAC(mc_samples=1)

    def step() -> tuple[dict[str, Tensor], dict[str, Any]]:
        model.zero_grad(set_to_none=True)
        with active(extension):
            loss(model(x), y).backward()
        return _gradient(model), {name: p.kfac for name, p in params.items()}

    return step


def nngeometry_kronecker(model: nn.Sequential, x: Tensor, y: Tensor) -> KroneckerStep:
    """``PMatKFAC`` of NNGeometry on the log-likelihood of the given labels."""
    from nngeometry.object import PMatKFAC

    compute, _ = _nngeometry_step(model, x, y, PMatKFAC)

    def step() -> tuple[dict[str, Tensor], dict[str, Any]]:
        gradient, matrix = compute()
        return gradient, matrix.data

    return step


def asdl_kronecker(model: nn.Sequential, x: Tensor, y: Tensor) -> KroneckerStep:
    """Kronecker factors of ASDL for the empirical Fisher, gradient from the same backward."""
    from asdl import SHAPE_KRON

    compute, layers = _asdl_step(model, x, y, SHAPE_KRON)

    def step() -> tuple[dict[str, Tensor], dict[str, Any]]:
        gradient = compute()
        return gradient, {name: layer.fisher.kron for name, layer in layers.items()}

    return step


PEERS: dict[str, Callable[[nn.Sequential, Tensor, Tensor], Step]] = {
    "vmap": vmap,
    "opacus": opacus,
    "backpack": backpack,
    "nngeometry": nngeometry,
    "asdl": asdl,
}

KRONECKER_PEERS: dict[str, Callable[[nn.Sequential, Tensor, Tensor], KroneckerStep]] = {
    "backpack": backpack_kronecker,
    "nngeometry": nngeometry_kronecker,
    "asdl": asdl_kronecker,
}


def _nngeometry_step(
    model: nn.Sequential, x: Tensor, y: Tensor, representation: Callable[..., Any]
) -> tuple[Callable[[], tuple[dict[str, Tensor], Any]], Any]:
    """Prepare an NNGeometry matrix together with the gradient of the mean cross-entropy.

    NNGeometry calls a function of the mini-batch, then differentiates its output with respect to
    the inputs, and its hooks build the matrix during that backward.  Here the function runs the
    backward itself, of the summed loss, so that the hooks and the gradient share it; what it
    returns no longer depends on the layers.  Against the usual way, which needs a second forward
    and backward for the gradient, this saves a third of the time.

    The loader hands over the mini-batch in one piece, without collating single samples.  It counts
    as one example, so the matrix is the sum over samples.
    """
    from nngeometry.backend import TorchHooksJacobianBackend
    from nngeometry.layercollection import LayerCollection

    model = copy.deepcopy(model)
    collection = LayerCollection.from_model(model)
    loader = DataLoader(TensorDataset(x, y), batch_size=None, sampler=[slice(None)])

    def function(xs: Tensor, ys: Tensor) -> Tensor:
        cross_entropy(model(xs.detach()), ys, reduction="sum").backward()
        return xs.flatten(1)[:, :1]

    generator = TorchHooksJacobianBackend(model, function, layer_collection=collection)

    def compute() -> tuple[dict[str, Tensor], Any]:
        model.zero_grad(set_to_none=True)
        generator.i_output = 0  # read by the Kronecker hooks, else set only after the function ran
        matrix = representation(generator=generator, examples=loader)
        generator.handles.clear()  # the library keeps removed hooks and would revisit them
        return _divide(_gradient(model), len(y)), matrix

    return compute, collection


def _asdl_step(
    model: nn.Sequential, x: Tensor, y: Tensor, shape: str
) -> tuple[Callable[[], dict[str, Tensor]], dict[str, Any]]:
    """Prepare an empirical Fisher of ASDL together with the gradient of the mean cross-entropy."""
    from asdl import FISHER_EMP, FisherConfig, get_fisher_maker

    model = copy.deepcopy(model)
    maker = get_fisher_maker(model, FisherConfig(FISHER_EMP, [shape], data_size=len(y)))
    maker.setup_loss_call(cross_entropy, maker.setup_model_call(model, x), y)

    def compute() -> dict[str, Tensor]:
        model.zero_grad(set_to_none=True)
        maker.forward_and_backward(calc_loss_grad=True)
        return _gradient(model)

    return compute, _layers(model)


def _layers(model: nn.Module) -> dict[str, Any]:
    """Name the modules that own parameters themselves."""
    return {
        name: module
        for name, module in model.named_modules()
        if next(module.parameters(recurse=False), None) is not None
    }


def _chunks(model: nn.Module, x: Tensor, y: Tensor) -> list[tuple[Tensor, Tensor]]:
    """Split a mini-batch so that no parameter's per-sample gradients exceed `CHUNK_BYTES`.

    One large block is allocated and freed first: from then on glibc keeps freed memory up to about
    twice its size, in place of returning it to the kernel between the chunks.
    """
    torch.empty(31 * 2**20, dtype=torch.uint8)
    largest = max(p.numel() * p.element_size() for p in model.parameters())
    size = max(1, CHUNK_BYTES // largest)
    return list(zip(x.split(size), y.split(size), strict=True))


def _gradient(model: nn.Module) -> dict[str, Tensor]:
    """Read the gradients that a backward left on the parameters."""
    return {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


def _add(total: dict[str, Tensor], name: str, part: Tensor) -> None:
    """Add `part` to the entry `name`, or make it the entry."""
    if name in total:
        total[name].add_(part)
    else:
        total[name] = part


def _divide(tensors: dict[str, Tensor], n: int) -> dict[str, Tensor]:
    """Divide every tensor by `n` in place."""
    for tensor in tensors.values():
        tensor.div_(n)
    return tensors
