"""One changed line for PyTorch users: ``fire.backward(loss, y)`` in place of ``loss.backward()``.

`Fire` watches the model's own forward pass, so nothing is run twice that need not be; what it
leaves in ``.grad`` is the gradient of loss and FIRE term, and any optimiser, scheduler, clipping
and mixed precision go on working. The proximal part of `quadratic` hangs on the optimiser's step.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn

from firecv import tree
from firecv.errors import DataError, FirecvError
from firecv.fire.accumulate import Accumulated, Accumulation
from firecv.fire.forms import FORMS, Form, default_strength, precondition
from firecv.fire.penalties import align_term, trace_term
from firecv.fire.pull import Pull
from firecv.fire.scale import Scale, is_still, scale_of
from firecv.fire.state import known_from_state, known_to_state, read, write
from firecv.fire.validation import Given, as_validation
from firecv.fisher import Diagonal, estimate
from firecv.fisher.base import Fisher, Structure
from firecv.fisher.capture import Pass
from firecv.fisher.estimate import look_at_pass
from firecv.fisher.fallback import UnrepeatableLayer
from firecv.fisher.recorder import eval_mode
from firecv.fisher.watch import Watch
from firecv.models import Task
from firecv.regimes import Regime, require
from firecv.seeding import derive_torch
from firecv.tree import Tree

AUTO_STEPS, AUTO_SHARE = 10, 0.1
"""``strength="auto"``: over the first 10 steps of a fragment the strength is set so that the term's
gradient has a tenth of the norm of the loss's."""


class Fire:
    """The FIRE term in an ordinary training loop.

    Parameters
    ----------
    model
        A classifier that takes one tensor of samples and gives class scores.
    validation
        What may be seen of the validation set: None, inputs ``x``, ``(x, y)``, a loader of either,
        `Unlabelled` of any of these, or a `Summary`. The regime follows from it.
    form
        ``"precondition"``, ``"trace"``, ``"quadratic"`` or ``"align"``.
    strength
        How strong the term is. At 0 training is plain, bit for bit: no hook, no draw, no look at
        the validation set. ``"auto"`` sets it over the first 10 steps so that the term's gradient
        has a tenth of the norm of the loss's; those steps cost about twice as much.
    structure
        Of the Fisher, for `precondition` and `quadratic`: ``Diagonal``, ``LowRank``, ...
    accumulation
        How Fishers of fragments are mixed and averaged; ``PAPER`` is Algorithm 1 to the letter.
    refresh
        Steps between two estimates of the validation set's Fisher.
    fisher_every
        Steps from one estimate of the batch's Fisher to the next. By default 1 where every
        mini-batch is a step of the average (``PAPER``) and for `precondition` with a diagonal; 10
        for `precondition` with another structure, 20 for `quadratic`.
    validation_batch
        Samples of the validation set drawn in every step of `trace` and `align`.
    optimiser
        Needed by `quadratic`, whose pull follows each of its steps.
    seed
        Of what is drawn from the validation set.

    Examples
    --------
    >>> model = nn.Linear(3, 2)
    >>> optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    >>> x_val, y_val = torch.randn(20, 3), torch.randint(2, (20,))
    >>> fire = Fire(model, validation=(x_val, y_val), form="trace")
    >>> x, y = torch.randn(8, 3), torch.randint(2, (8,))
    >>> optimiser.zero_grad()
    >>> loss = nn.functional.cross_entropy(model(x), y)
    >>> fire.backward(loss, y)  # was: loss.backward()
    >>> optimiser.step()
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        validation: Given = None,
        form: Form = "precondition",
        strength: float | Literal["auto"] | None = None,
        structure: Structure[Fisher] = Diagonal,
        accumulation: Accumulation | None = None,
        refresh: int = 50,
        fisher_every: int | None = None,
        validation_batch: int = 16,
        optimiser: torch.optim.Optimizer | None = None,
        seed: int = 0,
    ) -> None:
        strength = default_strength(form) if strength is None else strength
        counts = {"refresh": refresh, "validation_batch": validation_batch}
        _check(form, strength, counts | {"fisher_every": fisher_every})
        self.task, self.form, self.structure = Task(model), form, structure
        self.strength: float | None = None if strength == "auto" else float(strength)
        self.known: Accumulated[Fisher] = Accumulated(accumulation or Accumulation())
        self.n_steps = 0
        self.reference: Tree | None = None
        self._auto = [0.0, 0.0, 0.0]
        self._scale = Scale(None, is_plain=False)
        if self.strength == 0:
            return  # plain training: nothing below may happen
        self.validation = as_validation(validation)
        self.refresh, self.validation_batch = refresh, validation_batch
        self.fisher_every = fisher_every or self._default_fisher_every()
        self._rng = derive_torch(seed, "fire", "validation")
        self._check_regime()
        if self.validation.fisher is not None:
            self.known = self.known.with_validation(self.validation.fisher)
        if form == "quadratic":
            self._hang_on(optimiser)
        self._watch = Watch(self.task)

    @property
    def regime(self) -> Regime:
        """What is seen of the validation set."""
        return "none" if self.strength == 0 else self.validation.regime

    def backward(self, loss: Tensor, y: Tensor | None = None) -> None:
        """Add the gradient of loss and FIRE term to ``.grad``, as ``loss.backward()`` would.

        Parameters
        ----------
        loss
            Of one forward pass. Its reduction, a division for gradient accumulation, a gradient
            scaler's factor, class and sample weights are seen from its gradient; label smoothing
            and other losses too, by forms that do not need to know the loss's scale.
        y
            The labels of the batch.
        """
        if self.strength == 0:
            loss.backward()
            return
        if y is None:
            raise DataError(
                "fire.backward(loss, y) needs the labels y of the batch, for its Fisher"
            )
        if self.validation.x is not None and self.n_steps % self.refresh == 0:
            if self.form in ("precondition", "quadratic"):
                fisher = self.validation.estimate(self.structure, self.task)
                self.known = self.known.with_validation(fisher)
        if self.form == "precondition":
            self._precondition(loss, y)
        elif self.form == "quadratic":
            self._quadratic(loss, y)
        else:
            self._penalise(self._watch.take(), loss, y)
        self.n_steps += 1
        self._watch.is_on = self.form in ("trace", "align") or self._is_due()

    def next_fragment(self) -> None:
        """Say that the current fragment has ended: its Fisher is kept, its data may go."""
        self.known = self.known.finished()
        if self.form == "quadratic" and self.strength != 0:
            self.reference = tree.copies(self.task.parameters())
            self._set_pull()

    def state_dict(self) -> dict[str, Any]:
        """Return all that training needs to go on as if it had not been interrupted."""
        state: dict[str, Any] = {
            "form": self.form,
            "n_steps": self.n_steps,
            "strength": self.strength,
            "auto": list(self._auto),
            "scale": list(self._scale),
            "known": known_to_state(self.known),
        }
        if self.reference is not None:
            state["reference"] = tree.copies(self.reference)
        if self.strength != 0:
            state["rng"] = self._rng.get_state()
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a state that `state_dict` returned for the same model and form."""
        if state.get("form") != self.form:
            raise FirecvError(
                f"the state is of the form {state.get('form')!r}, this is {self.form!r}; make Fire "
                f"with the same form"
            )
        self.known = known_from_state(state["known"], self.known, self.task.parameters())
        self.n_steps, self.strength = int(state["n_steps"]), state["strength"]
        self._auto = [float(value) for value in state["auto"]]
        self._scale = Scale(*state["scale"])
        self.reference = state.get("reference")
        if self.strength != 0:
            self._rng.set_state(state["rng"])
            self._watch.is_on = self.form in ("trace", "align") or self._is_due()
            if self.form == "quadratic":
                self._set_pull()

    def save(self, path: str | Path) -> None:
        """Write what is known to one file, without pickle; the model is not in it."""
        write(self.state_dict(), path)

    def resume(self, path: str | Path) -> None:
        """Go on from a file that `save` wrote."""
        self.load_state_dict(read(path))

    def close(self) -> None:
        """Leave model and optimiser as they were before."""
        if self.strength != 0:
            self._watch.stop()
            if self.form == "quadratic":
                self._hook.remove()

    def _precondition(self, loss: Tensor, y: Tensor) -> None:
        gradient = self._look(loss, y) if self._is_due() else self._gradient(loss)
        terms = self.known.terms("precondition")
        if self.strength is None:
            product = precondition(tree.zeros_like(gradient), [], 0.0)
            for factor, fisher in terms:
                product = tree.add(product, tree.scale(fisher.matvec(gradient), factor))
            strength = self._calibrated(_norm(gradient), _norm(product))
        else:
            strength = self.strength
        self._deposit(precondition(gradient, terms, strength))

    def _quadratic(self, loss: Tensor, y: Tensor) -> None:
        if self._is_due():
            self._deposit(self._look(loss, y))
        else:
            loss.backward()

    def _default_fisher_every(self) -> int:
        if self.known.settings.step == "batch":
            return 1  # Algorithm 1 takes the Fisher of every mini-batch
        if self.form == "quadratic":
            return 20
        return 1 if cast(object, self.structure) is Diagonal else 10

    def _is_due(self) -> bool:
        """Tell whether this step looks at the batch's Fisher."""
        return self.n_steps % self.fisher_every == 0

    def _penalise(self, done: Pass, loss: Tensor, y: Tensor) -> None:
        (at_scores,) = torch.autograd.grad(loss, done.scores, retain_graph=True)
        scale = scale_of(at_scores, done.scores, y).factor
        if scale is None or scale <= 0:
            raise FirecvError(
                f"the form {self.form!r} adds a penalty to the loss and must know its scale, but "
                f"this loss is no multiple of a (weighted) mean cross-entropy: label smoothing, "
                f"mixed labels or another loss; use 'precondition' or 'quadratic', or a plain "
                f"cross-entropy"
            )
        term = self._term(done, y)
        if self.strength is not None:
            (loss + scale * self.strength * term).backward()
            return
        params = list(self.task.parameters().values())
        of_loss, of_term = (
            _like(torch.autograd.grad(root, params, retain_graph=True, allow_unused=True), params)
            for root in (loss, term)
        )
        strength = self._calibrated(_norm(of_loss) / scale, _norm(of_term))
        total = tree.add(of_loss, tree.scale(of_term, scale * strength))
        self._deposit(dict(zip(self.task.trainable, total.values(), strict=True)))

    def _term(self, done: Pass, y: Tensor) -> Tensor:
        drawn = None
        if self.validation.x is not None:
            drawn = self.validation.draw(self.validation_batch, self._rng)
        if self.form == "trace":
            return trace_term(done, y, drawn, self.validation, self.known.settings.mix)
        return align_term(done, y, drawn, self.validation)

    def _look(self, loss: Tensor, y: Tensor) -> Tree:
        """Return the gradient of the loss and keep the batch's Fisher, which comes with it."""
        done = self._watch.take()
        if not self._mixes_samples():
            in_fragment = self.known.settings.step == "fragment"
            onto = self.known.total if in_fragment else None

            def judge(at_scores: Tensor) -> float | None:
                row = self.n_steps % len(y)
                if not is_still(self._scale, at_scores, done.scores.detach(), y, row):
                    self._scale = scale_of(at_scores, done.scores, y)
                return self._scale.factor if self._scale.is_plain else None

            try:
                look = look_at_pass(self.structure, done, loss, judge, onto)
            except UnrepeatableLayer:
                pass  # raised before the backward pass: the graph is whole
            else:
                if look.fisher is None and not look.overflowed:
                    why = "the loss is not the plain mean cross-entropy times a number"
                    self._keep_by_second_pass(why, done, y)
                elif look.fisher is not None:
                    keep = self.known.with_total if in_fragment else self.known.with_batch
                    self.known = keep(look.fisher)
                return look.gradient
        gradient = self._gradient(loss)
        self._keep_by_second_pass(
            "the model has a batch norm or a layer without closed form in train mode", done, y
        )
        return gradient

    def _keep_by_second_pass(self, why: str, done: Pass, y: Tensor) -> None:
        self._watch.plan.say(f"{why}: the Fisher takes a pass of its own, in eval mode")
        with eval_mode(self.task.model):
            fisher = estimate(self.structure, self.task, [(done.x, y)], law="empirical")
        self.known = self.known.with_batch(fisher)

    def _gradient(self, loss: Tensor) -> Tree:
        params = self.task.parameters()
        found = torch.autograd.grad(loss, list(params.values()), materialize_grads=True)
        return dict(zip(params, found, strict=True))

    def _mixes_samples(self) -> bool:
        plan = self._watch.plan
        return any(norm.training for norm in plan.batch_norms)

    def _deposit(self, gradient: Tree) -> None:
        """Add to ``.grad``, as a backward pass does."""
        for name, parameter in self.task.parameters().items():
            new = gradient[name].to(parameter.dtype)
            parameter.grad = new if parameter.grad is None else parameter.grad + new

    def _calibrated(self, loss_norm: float, term_norm: float) -> float:
        """Return the automatic strength, settled after the first steps."""
        self._auto = [a + b for a, b in zip(self._auto, (loss_norm, term_norm, 1), strict=True)]
        strength = AUTO_SHARE * self._auto[0] / self._auto[1] if self._auto[1] > 0 else 0.0
        if self._auto[2] >= AUTO_STEPS:
            self.strength = strength
        return strength

    def _check_regime(self) -> None:
        regime = self.validation.regime
        if self.form == "align":
            require("summary", regime, "the form 'align'")
        if self.form == "trace" and regime != "none":
            require("unlabelled", regime, "the form 'trace' with a validation set")

    def _hang_on(self, optimiser: torch.optim.Optimizer | None) -> None:
        if optimiser is None:
            raise FirecvError(
                "the form 'quadratic' pulls after each step of the optimiser and must know it; "
                "give Fire(model, ..., form='quadratic', optimiser=optimiser)"
            )
        self.reference = tree.copies(self.task.parameters())
        self._set_pull()
        self._hook = optimiser.register_step_post_hook(self._after_step)

    def _set_pull(self) -> None:
        """Fix what the parameters are pulled to, and along which directions."""
        fisher = self.known.remembered("quadratic") or self.validation.fisher
        anchor = self.reference
        self._pull = None if fisher is None or anchor is None else Pull(fisher, anchor)

    def _after_step(self, optimiser: torch.optim.Optimizer, *_: object) -> None:
        if self._pull is None:
            return  # nothing has been learned of an earlier fragment yet
        params = self.task.parameters()
        if self.strength is not None:
            self._pull(params, optimiser, self.strength)
            return
        with torch.no_grad():
            away = tree.sub(params, self._pull.anchor)
            gradient = {name: p.grad for name, p in params.items() if p.grad is not None}
            self._calibrated(_norm(gradient), _norm(self._pull.fisher.matvec(away)))


def _norm(a: Tree) -> float:
    return float(tree.dot(a, a)) ** 0.5


def _like(found: tuple[Tensor | None, ...], params: list[Tensor]) -> Tree:
    zeros = (torch.zeros_like(p) if f is None else f for f, p in zip(found, params, strict=True))
    return {str(index): value for index, value in enumerate(zeros)}


def _check(form: Form, strength: object, counts: Mapping[str, int | None]) -> None:
    if form not in FORMS:
        raise FirecvError(f"there is no form {form!r}; expected one of {', '.join(FORMS)}")
    if form == "weigh":
        raise FirecvError(
            "the form 'weigh' acts on fragments, not on steps; use FIREClassifier(form='weigh'), "
            "or firecv.fire.fragment_weights"
        )
    if strength != "auto" and not (isinstance(strength, int | float) and 0 <= strength < 1e30):
        raise FirecvError(f"the strength is a number from 0 on, or 'auto'; got {strength!r}")
    for name, value in counts.items():
        if value is not None and value < 1:
            raise FirecvError(f"{name} is a whole number from 1 on; got {value}")
