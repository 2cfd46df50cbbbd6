"""An ordinary PyTorch loop, and the same loop with FIRE: one line is another.

Run it as ``python examples/one_line.py``. Digits arrive in four fragments, each turned by other
angles, and are judged on a validation set that is turned further than most of them.
"""

import torch
from torch.nn import functional

from firecv.data import load
from firecv.data.encode import channels_first
from firecv.data.rotation import rotate
from firecv.fire import Fire
from firecv.models import batches, cnn
from firecv.seeding import derive, derive_torch

digits = load("digits").train
order = derive(0, "order").permutation(len(digits))
images, labels = digits.x[order], torch.from_numpy(digits.y[order])


def turned(rows: slice, low: float, high: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Return digits turned by angles between two."""
    angles = derive(0, "angles", rows.start).uniform(low, high, len(images[rows]))
    return torch.from_numpy(channels_first(rotate(images[rows], angles))), labels[rows]


fragments = [turned(slice(300 * i, 300 * (i + 1)), 20.0 * i, 20.0 * i + 20) for i in range(4)]
x_val, y_val = turned(slice(1200, 1300), 50, 90)  # the method may see these
x_test, y_test = turned(slice(1300, 1797), 50, 90)  # and is judged on these


def train(fire_settings: dict[str, object] | None) -> float:
    """Return the test accuracy of a small network trained fragment after fragment."""
    model = cnn((1, 8, 8), 10, derive_torch(0, "weights"))
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    fire = Fire(model, optimiser=optimiser, **(fire_settings or {"strength": 0}))
    for x, y in fragments:
        for _ in range(12):
            for x_batch, y_batch in batches(x, y, size=64):
                optimiser.zero_grad()
                loss = functional.cross_entropy(model(x_batch), y_batch)
                fire.backward(loss, y_batch)  # was: loss.backward()
                optimiser.step()
        fire.next_fragment()
    with torch.no_grad():
        return float((model.eval()(x_test).argmax(1) == y_test).double().mean())


if __name__ == "__main__":
    print(f"plain                       {train(None):.1%}")
    for form, strength in {"precondition": 0.1, "trace": 0.001, "align": 0.1}.items():
        settings = {"form": form, "strength": strength, "validation": (x_val, y_val)}
        print(f"{form + ', V labelled':28}{train(settings):.1%}")
    print(f"quadratic, no V             {train({'form': 'quadratic', 'strength': 1.0}):.1%}")
