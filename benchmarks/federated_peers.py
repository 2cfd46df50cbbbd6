"""Rounds of FedAvg by FedLab and Flower, each run in the environment that has them.

Both ends of the line are here: what ``federated.py`` imports to start a library and to ask it, and
the script that it starts with the other environment's Python, the name of the library and a folder
with the clients' data, the initial weights and the settings. Every line of standard input asks for
one round more; every line of standard output is the answer to it, as JSON. The weights after the
first round go to the folder. Nothing of firecv is imported.

Seconds are CPU time of the round alone: of this process for FedLab, which has no other, and of this
process and all below it for Flower, whose clients and whose Ray run in processes of their own.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import time
import types
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from command import say
from torch import Tensor, nn

TICKS = os.sysconf("SC_CLK_TCK")


class Problem(NamedTuple):
    """The clients and how they train, as ``federated.py`` has written them."""

    folder: Path
    widths: list[int]
    n_clients: int
    batch_size: int
    rate: float

    def write(self, model: nn.Module, data: Sequence[tuple[Tensor, Tensor]]) -> None:
        """Write the problem, with the model's weights and all clients' data, to its folder."""
        arrays = {
            "x": torch.stack([x for x, _ in data]),
            "y": torch.stack([y for _, y in data]),
            "initial": nn.utils.parameters_to_vector(model.parameters()).detach(),
        }
        for name, values in arrays.items():
            np.save(self.folder / f"{name}.npy", values.numpy(), allow_pickle=False)
        settings = {k: v for k, v in self._asdict().items() if k != "folder"}
        (self.folder / "settings.json").write_text(json.dumps(settings), encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Problem:
        """Return the problem in a folder."""
        return cls(folder, **json.loads((folder / "settings.json").read_text()))

    def client(self, k: int) -> tuple[Tensor, Tensor]:
        """Return the samples and labels of one client; the file is not read as a whole."""
        arrays = (self.array(name, mmap_mode="r")[k] for name in ("x", "y"))
        x, y = (torch.from_numpy(np.array(rows)) for rows in arrays)
        return x, y

    def model(self) -> nn.Module:
        """Return the network at its initial weights."""
        network = self.network()
        initial = torch.from_numpy(self.array("initial"))
        nn.utils.vector_to_parameters(initial, network.parameters())
        return network

    def network(self) -> nn.Module:
        """Return the network."""
        layers: list[nn.Module] = []
        for n_inputs, n_outputs in zip(self.widths[:-1], self.widths[1:], strict=True):
            layers += [nn.Linear(n_inputs, n_outputs), nn.ReLU()]
        return nn.Sequential(*layers[:-1])

    def trained(self, weights: Mapping[str, Tensor], k: int) -> dict[str, Tensor]:
        """Return the weights after one epoch of a client, the samples in their order."""
        torch.set_num_threads(1)
        with torch.device("meta"):  # no random weights, which would only be replaced
            model = self.network()
        model.load_state_dict(weights, assign=True)
        optimiser = torch.optim.SGD(model.parameters(), self.rate)
        x, y = self.client(k)
        for rows, labels in zip(x.split(self.batch_size), y.split(self.batch_size), strict=True):
            optimiser.zero_grad()
            nn.functional.cross_entropy(model(rows), labels).backward()
            optimiser.step()
        return model.state_dict()

    def array(self, name: str, mmap_mode: Any = None) -> Any:
        """Return an array of the folder."""
        return np.load(self.folder / f"{name}.npy", mmap_mode=mmap_mode, allow_pickle=False)


class Peer:
    """A library in a process of its own, which computes a round when asked."""

    def __init__(self, library: str, process: subprocess.Popen[str], folder: Path) -> None:
        self.library, self.process, self.folder = library, process, folder

    def turn(self) -> float | None:
        """Return the CPU seconds of one round more; None, with the reason said, if it fails."""
        assert self.process.stdin is not None and self.process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write("\n")
            self.process.stdin.flush()
        # If the process dies, others that it has started may still hold its standard output open.
        is_ready = False
        while not is_ready and self.process.poll() is None:
            is_ready = bool(select.select([self.process.stdout], [], [], 1.0)[0])
        is_ready = is_ready or bool(select.select([self.process.stdout], [], [], 0.0)[0])
        line = self.process.stdout.readline() if is_ready else ""
        reply = json.loads(line) if line else {"error": "the process ended"}
        if "error" in reply:
            say(f"{self.library}: {reply['error']}")
            return None
        return float(reply["seconds"])

    def weights(self) -> Tensor:
        """Return all weights after the first round."""
        return torch.from_numpy(np.load(self.folder / f"{self.library}.npy", allow_pickle=False))


@contextlib.contextmanager
def started(python: Path, library: str, folder: Path) -> Generator[Peer]:
    """Run one library with one thread, offline; end the process, whatever happens."""
    one = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    quiet = {
        "FLWR_DISABLE_UPDATE_CHECK": "1",
        "FLWR_HOME": str(folder),
        "FLWR_TELEMETRY_ENABLED": "0",
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # keeps Ray on the loopback address
        "RAY_TMPDIR": str(folder),
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    process = subprocess.Popen(
        [str(python), __file__, library, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | one | quiet,
    )
    try:
        yield Peer(library, process, folder)
    finally:
        assert process.stdin is not None and process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()  # at the end of its input a library ends what it has started
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


Round = Callable[[], tuple[float, Tensor]]
"""Computes one round more and returns its CPU seconds and all weights in one vector."""


def by_fedlab(given: Problem, answer: Callable[[Round], None]) -> None:
    """Answer with rounds of FedLab's serial trainer, as its standalone pipeline runs them."""
    # FedLab's data sets, unused here, import torchvision, whose build may not go with this torch.
    for name in ("torchvision", "torchvision.transforms", "torchvision.datasets"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["torchvision"].__dict__["transforms"] = sys.modules["torchvision.transforms"]
    from fedlab.contrib.algorithm.fedavg import FedAvgSerialClientTrainer, FedAvgServerHandler
    from torch.utils.data import DataLoader, TensorDataset

    class Clients:
        """All clients in memory, with loaders as FedLab's own data sets make them."""

        def __init__(self) -> None:
            self.parts = [TensorDataset(*given.client(k)) for k in range(given.n_clients)]

        def get_dataloader(self, client: int, batch_size: int) -> Any:
            return DataLoader(self.parts[client], batch_size=batch_size)

    model = given.model()
    handler = FedAvgServerHandler(model, global_round=sys.maxsize, sample_ratio=1.0)
    handler.num_clients = given.n_clients
    trainer = FedAvgSerialClientTrainer(model, given.n_clients)
    trainer.setup_dataset(Clients())
    trainer.setup_optim(epochs=1, batch_size=given.batch_size, lr=given.rate)

    def one_round() -> tuple[float, Tensor]:
        start = time.process_time()
        trainer.local_process(handler.downlink_package, handler.sample_clients())
        for upload in trainer.uplink_package:
            handler.load(upload)
        return time.process_time() - start, handler.model_parameters

    answer(one_round)


def by_flower(given: Problem, answer: Callable[[Round], None]) -> None:
    """Answer with rounds of Flower's simulation, one client at a time."""
    from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
    from flwr.clientapp import ClientApp
    from flwr.serverapp import Grid, ServerApp
    from flwr.serverapp.strategy import FedAvg
    from flwr.simulation import run_simulation

    client, server = ClientApp(), ServerApp()

    @client.train()
    def train(message: Message, context: Context) -> Message:
        received = message.content.array_records["arrays"].to_torch_state_dict()
        weights = given.trained(received, int(context.node_config["partition-id"]))
        sizes = MetricRecord({"num-examples": 1})  # all clients are as large
        found = RecordDict({"arrays": ArrayRecord(weights), "metrics": sizes})
        return Message(found, reply_to=message)

    @server.main()
    def main(grid: Grid, context: Context) -> None:
        strategy = FedAvg(fraction_evaluate=0.0, min_available_nodes=given.n_clients)
        arrays = ArrayRecord(given.model().state_dict())

        def one_round() -> tuple[float, Tensor]:
            nonlocal arrays
            start = tree_seconds()
            arrays = strategy.start(grid, arrays, num_rounds=1).arrays
            seconds = tree_seconds() - start
            return seconds, torch.cat([v.flatten() for v in arrays.to_torch_state_dict().values()])

        answer(one_round)

    resources: Any = {"init_args": {"num_cpus": 1}, "client_resources": {"num_cpus": 1}}
    run_simulation(server, client, given.n_clients, backend_config=resources)


def tree_seconds() -> float:
    """Return the CPU seconds of this process and all below it, those that have ended included."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has just ended
            fields = path.read_text().rpartition(")")[2].split()
            parents[int(path.parent.name)] = int(fields[1])
            ticks[int(path.parent.name)] = sum(map(int, fields[11:15]))
    return sum(ticks[pid] for pid in ticks if os.getpid() in lineage(pid, parents)) / TICKS


def lineage(pid: int, parents: dict[int, int]) -> Iterator[int]:
    """Yield a process, its parent and so on."""
    while pid in parents:
        yield pid
        pid = parents[pid]


LIBRARIES = {"fedlab": by_fedlab, "flower": by_flower}


def serve(library: str, folder: Path) -> None:
    """Answer until there are no more requests."""
    torch.set_num_threads(1)
    replies = sys.stdout

    def answer(one_round: Round) -> None:
        for _ in sys.stdin:
            seconds, weights = one_round()
            if not (path := folder / f"{library}.npy").exists():
                np.save(path, weights.numpy(), allow_pickle=False)
            print(json.dumps({"seconds": seconds}), file=replies, flush=True)

    with contextlib.redirect_stdout(sys.stderr):  # libraries print on standard output
        try:
            LIBRARIES[library](Problem.read(folder), answer)
        except Exception as error:  # the benchmark says what went wrong and goes on
            reply = {"error": f"{type(error).__name__}: {error}"}
            print(json.dumps(reply), file=replies, flush=True)


if __name__ == "__main__":
    serve(sys.argv[1], Path(sys.argv[2]))
