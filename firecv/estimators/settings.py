"""An estimator's settings, checked and put together the way training takes them."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Literal, cast, get_args

import numpy as np
import torch
from sklearn.utils import check_random_state
from torch import nn

from firecv.errors import ModelError
from firecv.fire import PAPER, Accumulation
from firecv.fire.forms import FORMS, Form, default_strength
from firecv.fire.weigh.settings import LABEL_FREE
from firecv.models import cnn, mlp
from firecv.seeding import derive_torch

Carry = Literal["model", "fisher"]
Preset = Literal["paper"] | None
Strength = float | Literal["auto"] | None
Weigher = Literal["influence", "information", "mixture", "distance"] | None


def chosen_form(form: Form, preset: Preset, carry: Carry, rule: Weigher) -> Form:
    """Return the form to train with, having checked that the choices go together."""
    check_choice("form", form, FORMS)
    check_choice("preset", preset, (None, "paper"))
    check_choice("carry", carry, get_args(Carry))
    check_choice("rule", rule, (None, "influence", *LABEL_FREE))
    if preset == "paper":
        # `weigh` is the default and may not have been chosen.
        if form not in ("precondition", "weigh"):
            raise ModelError(
                f"preset='paper' is Algorithm 1, whose form is 'precondition', but form={form!r} "
                f"was asked for; drop one of the two"
            )
        return "precondition"
    if form == "weigh" and carry == "fisher":
        raise ModelError(
            "form='weigh' weighs fragments that are trained together, but with carry='fisher' "
            "every fragment trains a model of its own; choose carry='model' or another form, or "
            "preset='paper'"
        )
    return form


def chosen_strength(strength: Strength, form: Form) -> float | Literal["auto"]:
    """Return the strength to train with; None is the default of the form.

    Examples
    --------
    >>> chosen_strength(None, "trace"), chosen_strength(None, "weigh")
    (0.01, 'auto')
    """
    if strength is None or strength == "auto":
        return "auto" if strength == "auto" or form == "weigh" else default_strength(form)
    given = cast("object", strength)
    if not isinstance(given, int | float) or not 0 <= given < 1e30:
        raise ModelError(
            f"strength is {strength!r}; expected a number from 0 on, 'auto', or None for the "
            f"default of the form"
        )
    return float(given)


def chosen_accumulation(mix: float, decay: float, preset: Preset) -> Accumulation:
    """Return how Fishers are accumulated; the preset "paper" is Algorithm 1 to the letter.

    Examples
    --------
    >>> chosen_accumulation(0.5, 0.9, "paper").step
    'batch'
    """
    return replace(PAPER if preset == "paper" else Accumulation(), mix=mix, decay=decay)


def chosen_fisher_every(fisher_every: int | None) -> int | None:
    """Return the steps between two estimates of the batch's Fisher; None is the form's default."""
    given = cast("object", fisher_every)
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or int(given) < 1:
        raise ModelError(
            f"fisher_every is {given!r}; expected a whole number of steps from 1 on, or None for "
            f"the default of the form and preset"
        )
    return int(given)


def network_builder(
    hidden: Sequence[int],
    image_shape: tuple[int, int, int] | None,
    sizes: tuple[int, int],
    dtype: torch.dtype,
    seed: int,
) -> Callable[[], nn.Module]:
    """Return a function that returns the network, with the same initial weights every time.

    Parameters
    ----------
    hidden
        Units of the hidden layers.
    image_shape
        Channels, height and width, for the convolutional network.
    sizes
        Numbers of features and of classes.
    dtype
        Of the weights.
    seed
        Of the initial weights.

    Examples
    --------
    >>> build = network_builder((4,), None, (3, 2), torch.float64, seed=0)
    >>> build()(torch.zeros(5, 3, dtype=torch.float64)).shape
    torch.Size([5, 2])
    """
    n_features, n_classes = sizes
    if image_shape is None:
        widths = _whole_numbers("hidden", hidden)
        return lambda: mlp((n_features,), widths, n_classes, _rng(seed)).to(dtype)
    shape = _whole_numbers("image_shape", image_shape)
    if len(shape) != 3 or math.prod(shape) != n_features:
        raise ModelError(
            f"image_shape is {image_shape} and samples have {n_features} features; expected "
            f"channels, height and width whose product is the number of features"
        )

    def build() -> nn.Module:
        network = cnn((shape[0], shape[1], shape[2]), n_classes, _rng(seed))
        return nn.Sequential(nn.Unflatten(1, shape), network).to(dtype)

    return build


def drawn_seed(random_state: int | np.random.RandomState | None) -> int:
    """Return the seed of all that is drawn; None takes one from the system's entropy.

    Examples
    --------
    >>> drawn_seed(7), drawn_seed(None) == drawn_seed(None)
    (7, False)
    """
    if random_state is None:  # scikit-learn would use NumPy's global generator
        return int(np.random.default_rng().integers(2**31))
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))


def check_choice(name: str, value: object, choices: Iterable[object]) -> None:
    """Raise `ModelError` unless a setting is one of its choices."""
    if not any(value is None if choice is None else value == choice for choice in choices):
        raise ModelError(f"{name} is {value!r}; expected one of {list(choices)}")


def _rng(seed: int) -> torch.Generator:
    return derive_torch(seed, "weights")


def _whole_numbers(name: str, values: Sequence[int]) -> tuple[int, ...]:
    given = cast("object", values)
    found = cast("Sequence[object]", given) if isinstance(given, tuple | list) else (0.5,)
    if not all(isinstance(n, int | np.integer) and int(n) > 0 for n in found):
        raise ModelError(f"{name} is {values!r}; expected a tuple of whole numbers above 0")
    return tuple(map(int, values))
