"""Memory of a streaming estimate does not grow with the number of samples."""

import subprocess
import sys

import pytest

SCRIPT = """
import resource, sys, torch
from firecv.fisher import Diagonal, estimate
from firecv.models import Task, cnn
from firecv.seeding import derive_torch
torch.set_num_threads(1)
task = Task(cnn((1, 28, 28), 10, derive_torch(0, "w")).eval())
x, y = torch.randn(256, 1, 28, 28), torch.randint(10, (256,))
estimate(Diagonal, task, [(x, y)], law="empirical")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
estimate(Diagonal, task, ((x, y) for _ in range(int(sys.argv[1]))), law="empirical")
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


@pytest.mark.slow
def test_forty_times_the_samples_take_no_more_memory() -> None:
    grown = float(
        subprocess.run(
            [sys.executable, "-c", SCRIPT, "40"], capture_output=True, text=True, check=True
        ).stdout
    )
    assert grown < 20, f"{grown:.0f} MB more than for one batch"
