"""interim"""

import json, os
from collections.abc import Sequence
from pathlib import Path
import torch
from firecv.federated.codec import decode, encode
from firecv.federated.bundles import Bundle
from firecv.federated.engine import Round, State


def write(folder: Path, done: Sequence[Round]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    s = done[-1].state
    kept: Bundle = {
        "round": float(s.round),
        "generation": float(s.generation),
        "shares": {"w": torch.tensor(s.weights, dtype=torch.float64)},
    }
    kept |= {"server/" + n: p for n, p in s.server.items()}
    (folder / "state.part").write_bytes(encode(kept))
    os.replace(folder / "state.part", folder / "state")
    (folder / "rounds.json").write_text(
        json.dumps(
            [
                {
                    "round": r.state.round,
                    "clients": list(r.clients),
                    "failures": dict(r.failures),
                    "bytes_up": r.bytes_up,
                    "bytes_down": r.bytes_down,
                    "seconds": r.seconds,
                }
                for r in done
            ]
        )
    )


def read(folder: Path) -> tuple[State, list[dict[str, object]]]:
    kept = decode((folder / "state").read_bytes())
    server = {n.removeprefix("server/"): p for n, p in kept.items() if n.startswith("server/")}
    return State(
        int(kept["round"]), server, tuple(kept["shares"]["w"].tolist()), int(kept["generation"])
    ), json.loads((folder / "rounds.json").read_text())
