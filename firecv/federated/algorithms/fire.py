"""FIRE across clients: what the Fisher of clients and of V says steers local training or averaging.

Khan, Syed: Fisher Information for Robust Federated Cross-Validation. At refreshes the clients'
Fishers, taken at the weights sent out, are averaged with that of V into I_G, an exponential average
over refreshes; clients train with the form's term until the next. The form `weigh`, ours and the
default, is FedAvg with weights of clients chosen with V's help: it is `Weighed(FedAvg(...))`
(`firecv.federated.algorithms.weighed`), and what it does depends on what the server holds of V.

*Symbols*: lambda is `strength`, mu `mix`, alpha `decay`; F_B is the Fisher of a client's data.

Departures: with V on the server its Fisher is mixed in there and clients never see V. I_G goes to a
client once per refresh. `trace` differentiates through live Fishers, so that nothing is sent, and
with V on the server it is a penalty on clients' own data alone. `align` compares with V's Fisher.
"""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import torch

from firecv.errors import ModelError
from firecv.federated.algorithms.fedavg import FedAvg
from firecv.federated.algorithms.weighed import Weighed
from firecv.federated.bundles import Bundle, number_of, tree_of
from firecv.federated.compression import Compression, packed, unpacked
from firecv.federated.contract import LOCAL, Algorithm, Client, Cohort
from firecv.federated.fisher_schema import check_can_be_told, fisher_of
from firecv.federated.schema import Schema
from firecv.federated.term import Term
from firecv.federated.uploads import Rule as Combined
from firecv.federated.uploads import Upload, Uploads
from firecv.fire import Accumulated, Accumulation
from firecv.fire.forms import FORMS, Form, default_strength
from firecv.fire.validation import Validation
from firecv.fire.weigh.settings import Rule, Weighing
from firecv.fisher import estimate, mix
from firecv.fisher.base import Fisher
from firecv.fisher.recorder import eval_mode
from firecv.fisher.structures import STRUCTURES
from firecv.models import Task, batches
from firecv.regimes import Regime, require
from firecv.seeding import derive_torch
from firecv.training import Training, holding
from firecv.tree import Tree

AT_MOST = 512
"""Samples of a client that its Fisher is estimated on."""


@dataclass(frozen=True)
class Fire:
    """FIRE.

    Attributes
    ----------
    form
        "weigh", "precondition", "trace", "quadratic" or "align".
    strength
        Of the form; 0 is FedAvg. None is the form's default, and with `weigh` the rule's own.
    validation
        Who holds V: the server alone, or clients too ("shared").
    fisher_on
        Whose Fisher I_G is made of: "client", "validation" or both ("mix").
    every
        Rounds from one refresh to the next; None for every round with `weigh`, and for every
        fifth, as in the paper, with forms that send Fishers. Between refreshes clients estimate no
        Fisher: this is what `fisher_every` is in one process.
    structure
        Of the Fishers that are sent.
    accumulation
        How they are mixed and averaged over refreshes.
    compression
        How they are sent.
    rule
        How `weigh` weighs clients; None chooses by what the server holds of V, as
        `firecv.fire.weigh.settings.Weighing` says: with labels "likelihood".
    server_step
        Whether `weigh` with "likelihood" is followed by a step of the server on V's own loss, as
        far as cross-fitting finds that it helps.
    local
        How a client trains.
    """

    label: ClassVar[str] = "FIRE"
    form: Form = "weigh"
    strength: float | None = None
    validation: Literal["server", "shared"] = "server"
    fisher_on: Literal["client", "validation", "mix"] = "mix"
    every: int | None = None
    structure: str = "diagonal"
    accumulation: Accumulation = field(default_factory=Accumulation)
    compression: Compression = "none"
    rule: Rule | None = None
    server_step: bool = True
    local: Training = LOCAL

    def __post_init__(self) -> None:
        """Check the settings."""
        for name, choices in (
            ("form", FORMS),
            ("structure", tuple(STRUCTURES)),
            ("validation", ("server", "shared")),
            ("fisher_on", ("client", "validation", "mix")),
        ):
            if getattr(self, name) not in choices:
                given = getattr(self, name)
                raise ModelError(f"{name} is {given!r}; expected one of {', '.join(choices)}")
        if self._every < 1 or not 0 <= self._strength < 1e30:
            raise ModelError(
                f"every is a whole number from 1 on and strength a number from 0 on, got "
                f"{self.every} and {self.strength}"
            )
        if self.compression != "none" and self.structure != "diagonal":
            raise ModelError(
                f"compression={self.compression!r} is for diagonal Fishers, not for "
                f"{self.structure!r}; choose structure='diagonal' or compression='none'"
            )

    @property
    def weighing(self) -> Weighing | None:
        """How clients are weighed; None for forms that act on training."""
        if self.form != "weigh" or self.strength == 0:
            return None
        return Weighing(self.rule, self.strength, self._every, server_step=self.server_step)

    @property
    def plain(self) -> Algorithm | None:
        """What it is where no term acts on training: FedAvg, weighed or not; None elsewhere."""
        if self.strength != 0 and self.form != "weigh":
            return None
        weighing = self.weighing
        return FedAvg(self.local) if weighing is None else Weighed(FedAvg(self.local), weighing)

    def sees(self, holder: Validation) -> Regime:
        """Return what is seen of V, given what the server holds."""
        if self.strength == 0 or holder.regime == "none":
            return "none"
        if self.validation == "shared":
            return holder.regime
        if isinstance(self.plain, Weighed):
            return self.plain.sees(holder)
        if self.form == "trace" or (self._keeps_fisher and self.fisher_on == "client"):
            return "none"
        return "labelled_summary" if holder.regime == "labelled" else "summary"

    def init(self, task: Task, holder: Validation) -> Bundle:
        """Return the model's weights; nothing is known of any Fisher yet."""
        if self.plain is not None:
            return self.plain.init(task, holder)
        if self.form == "align":
            require("unlabelled", holder.regime, f"the form {self.form!r} on the server")
        if self._asks_for_fisher:
            check_can_be_told(self.structure, holder)
        labelled = float(holder.regime == "labelled")
        return {"weights": task.weights(), "round": 0.0, "labelled": labelled}

    def sends(self, server: Bundle, client: int) -> Bundle:
        """Return the weights, and I_G if this client does not have it yet."""
        if isinstance(self.plain, Weighed):
            return self.plain.sends(server, client)
        names = ("weights", "round", "labelled")
        sent: Bundle = {name: server[name] for name in names if name in server}
        if "information" in server:
            received = tree_of(server, "received")["version"]
            if int(received[client]) < number_of(server, "version"):
                sent["information"] = server["information"]
        return sent

    def schema(self, task: Task, server: Bundle, holder: Validation) -> Schema:
        """Return what a client sends beside its weights: at refreshes, a Fisher if it has one."""
        if not self._asks_for_fisher or not self._is_due(number_of(server, "round") + 1):
            return {}
        return {"fisher": fisher_of(self.structure, self.compression, task, server, holder)}

    def client_update(
        self, task: Task, server: Bundle, memory: Bundle, client: Client, rng: torch.Generator
    ) -> tuple[Bundle, Bundle]:
        """Return the weights after local training and, at refreshes, the client's Fisher."""
        if self.plain is not None:
            return self.plain.client_update(task, server, memory, client, rng)
        weights, upload = tree_of(server, "weights"), dict[str, Tree | float]()
        if self._asks_for_fisher and self._is_due(number_of(server, "round") + 1):
            # Draws of its own, so that the samples are shuffled as without FIRE.
            draws = derive_torch(rng.initial_seed(), "fisher")
            local = self._client_fisher(task, weights, client, draws)
            upload["fisher"] = packed(local.to_tree(), self.compression, draws)
        if "information" in server:
            memory = {**memory, "information": unpacked(tree_of(server, "information"))}
        known = None
        if "information" in memory and self._keeps_fisher:
            known = self._fisher(tree_of(memory, "information"))
        is_shared = self.validation == "shared"
        seen = client.validation if is_shared else Validation("none")
        if known is not None and self.form == "align":
            law = "labelled_summary" if number_of(server, "labelled") else "summary"
            seen = Validation(law, fisher=known)
        term = Term(self.form, self._strength, known, seen, self.accumulation)
        trained = term.train_from(task, weights, client.data, self.local, rng)
        return {"weights": trained, **upload}, memory

    def server_update(
        self, task: Task, server: Bundle, uploads: Uploads, cohort: Cohort, holder: Validation
    ) -> Bundle:
        """Return the mean of the weights and, at refreshes, I_G."""
        if self.plain is not None:
            return self.plain.server_update(task, server, uploads, cohort, holder)
        if not self._keeps_fisher:
            weights = uploads.mean().trees["weights"]
            return {**server, "weights": weights, "round": float(cohort.round)}
        aside: list[Upload] = []
        heard: list[int] = []

        def set_aside(upload: Upload) -> Upload:
            heard.append(upload.client)
            if "fisher" in upload.content:
                aside.append(upload)
            return upload._replace(content={"weights": upload.content["weights"]})

        weights = uploads.changed(set_aside).mean().trees["weights"]
        new: Bundle = {**server, "weights": weights, "round": float(cohort.round)}
        if "information" in server:
            received = tree_of(server, "received")["version"].clone()
            received[heard] = int(number_of(server, "version"))
            new["received"] = {"version": received}
        if not self._is_due(cohort.round):
            return new
        found = self._refreshed(task, server, aside, uploads.rule, holder)
        known = self._known(server)
        known = replace(known, validation=None).with_batch(found).finished()
        usable = known.remembered(self.form)
        assert known.carried is not None and usable is not None
        rng = torch.Generator().manual_seed(cohort.round)
        received = torch.zeros(cohort.n_clients, dtype=torch.int64)
        sent = tree_of(new, "received")["version"] if "received" in new else received
        return {
            **new,
            "carried": known.carried.to_tree(),
            "n_steps": float(known.n_steps),
            "information": packed(usable.to_tree(), self.compression, rng),
            "version": number_of(server, "version") + 1,
            "received": {"version": sent},
        }

    @property
    def _strength(self) -> float:
        return default_strength(self.form) if self.strength is None else self.strength

    @property
    def _every(self) -> int:
        if self.every is not None:
            return self.every
        return 1 if self.form == "weigh" else 5

    @property
    def _keeps_fisher(self) -> bool:
        """Whether a Fisher is accumulated on the server and sent to clients."""
        if self.strength == 0:
            return False
        is_frozen = self.form == "align" and self.validation == "server"
        return self.form in ("precondition", "quadratic") or is_frozen

    @property
    def _asks_for_fisher(self) -> bool:
        """Whether clients send a Fisher at refreshes; that of V alone the server has itself."""
        is_shared = self.validation == "shared"
        own, others = self._shares(is_shared)
        return self._keeps_fisher and self.form != "align" and bool(own or (others and is_shared))

    def _is_due(self, number: float) -> bool:
        return (number - 1) % self._every == 0

    def _fisher(self, arrays: Tree) -> Fisher:
        return STRUCTURES[self.structure].from_tree(arrays)

    def _known(self, server: Bundle) -> Accumulated[Fisher]:
        settings = replace(self.accumulation, step="fragment")
        if self.form == "align":  # V's Fisher at the present weights, and no memory
            return Accumulated(replace(settings, decay=0.0, normalize=False))
        if "carried" not in server:
            return Accumulated(settings)
        carried = self._fisher(tree_of(server, "carried"))
        return Accumulated(settings, carried, int(number_of(server, "n_steps")))

    def _client_fisher(
        self, task: Task, weights: Tree, client: Client, rng: torch.Generator
    ) -> Fisher:
        """Return what a client says of Fishers at the weights sent out."""
        shares = self._shares(self.validation == "shared")
        parts: list[tuple[float, Fisher]] = []
        structure = STRUCTURES[self.structure]
        with holding(task, weights), eval_mode(task.model):
            if shares[0]:
                x, y = client.data
                rows = torch.randperm(len(x), generator=rng)[:AT_MOST].to(x.device)
                own = estimate(structure, task, batches(x[rows], y[rows]), law="empirical")
                parts.append((shares[0], own))
            if shares[1] and self.validation == "shared":
                require("unlabelled", client.validation.regime, "fisher_on='validation'")
                parts.append((shares[1], client.validation.estimate(structure, task)))
        return _mixed(parts)

    def _shares(self, has_validation: bool) -> tuple[float, float]:
        """Return how much of a Fisher comes from clients' data and how much from V."""
        if self.fisher_on == "mix":
            mu = self.accumulation.mix
            return (mu, 1 - mu) if has_validation else (1.0, 0.0)
        return (1.0, 0.0) if self.fisher_on == "client" else (0.0, 1.0)

    def _refreshed(
        self, task: Task, server: Bundle, aside: list[Upload], rule: Combined, holder: Validation
    ) -> Fisher:
        """Return the Fisher of this refresh: the mean over clients, mixed with that of V."""
        parts: list[tuple[float, Fisher]] = []
        has_validation = self.validation == "server" and holder.x is not None
        share_clients, share_validation = self._shares(has_validation)
        if self.validation == "shared":
            share_clients, share_validation = 1.0, 0.0
        if self.form == "align":
            share_clients, share_validation = 0.0, 1.0
        if share_clients and aside:
            parts.append((share_clients, self._of_clients(aside, rule)))
        if share_validation:
            require("unlabelled", holder.regime, f"fisher_on={self.fisher_on!r} on the server")
            with holding(task, tree_of(server, "weights")):
                parts.append((share_validation, holder.estimate(STRUCTURES[self.structure], task)))
        return _mixed(parts)

    def _of_clients(self, aside: list[Upload], rule: Combined) -> Fisher:
        """Return the Fisher of all clients, combined as their weights are."""
        sent = [unpacked(tree_of(upload.content, "fisher")) for upload in aside]
        if rule == "mean":
            return mix([self._fisher(arrays) for arrays in sent], [u.weight for u in aside])
        if self.structure != "diagonal":
            raise ModelError(
                f"a {self.structure} Fisher has no entries of which to take rule={rule!r}; choose "
                f"structure='diagonal' or rule='mean'"
            )
        pairs = zip(aside, sent, strict=True)
        answers = [u._replace(content={"fisher": arrays}) for u, arrays in pairs]
        return self._fisher(Uploads(answers, rule).mean().trees["fisher"])


def _mixed(parts: list[tuple[float, Fisher]]) -> Fisher:
    return mix([fisher for _, fisher in parts], [share for share, _ in parts])
