"""Cases run in child processes, so that one that crashes, hangs or takes all memory is named."""

import faulthandler
import os
import resource
import signal
import time
import traceback
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch

from firecv.errors import FirecvError

SECONDS, BYTES = 60, 2 * 10**9
"""What one case may take of a core and of memory."""
LONGEST = 600
"""Seconds by the clock after which a case is stopped, also if it waits or the machine is busy."""
ADDRESS_SPACE = 8 * 10**9
"""Of a child, beyond what it starts with: protects the machine, a case is over the limit before."""
BATCH = 100
"""Cases of one child."""


class Outcome(NamedTuple):
    """What came of one case: "read", "refused" or what went wrong."""

    case: int
    said: str
    seconds: float
    n_bytes: int

    @property
    def is_bad(self) -> bool:
        """Whether it is a traceback, a signal, or over the limits."""
        return (
            self.said not in ("read", "refused") or self.seconds > SECONDS or self.n_bytes > BYTES
        )


def outcomes(run: Callable[[int], object], cases: Sequence[int]) -> list[Outcome]:
    """Return what comes of running each case, in child processes that are forked from this one.

    Parameters
    ----------
    run
        Called with the number of a case; it may raise a `FirecvError`.
    cases
        Their numbers.
    """
    found: list[Outcome] = []
    while len(found) < len(cases):
        found += _batch(run, cases[len(found) : len(found) + BATCH])
    return found


def _batch(run, cases):
    """Return the outcomes of a child, up to the first case it did not survive."""
    said, saying = os.pipe()
    child = os.fork()
    if not child:
        os.close(said)
        _child(run, cases, saying)
    os.close(saying)
    with os.fdopen(said) as lines:
        found = [Outcome(int(a), b, float(c), int(d)) for a, b, c, d in map(_fields, lines)]
    _, status = os.waitpid(child, 0)
    if len(found) < len(cases):
        how = (
            signal.Signals(os.WTERMSIG(status)).name
            if os.WIFSIGNALED(status)
            else f"exit code {os.WEXITSTATUS(status)}"
        )
        found.append(Outcome(cases[len(found)], f"ended by {how}", 0.0, 0))
    return found


def _fields(line):
    return line.rstrip("\n").split("\t")


def _child(run, cases, saying):
    """Run cases, write a line after each, and end."""
    faulthandler.disable()  # a crash is reported by its signal
    torch.set_num_threads(1)  # threads of the parent that PyTorch would wait for are not here
    limit = _memory("VmSize") + ADDRESS_SPACE
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    for case in cases:
        signal.alarm(LONGEST)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)  # the default is to end the process
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # which sets VmHWM, the peak, to what is held now
        start = time.process_time()
        try:
            run(case)
            what = "read"
        except FirecvError:
            what = "refused"
        except BaseException as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            what = f"{type(error).__name__} at {where.filename}:{where.lineno}: {error!s:.200}"
        seconds = time.process_time() - start
        what = " ".join(what.split())
        os.write(saying, f"{case}\t{what}\t{seconds:.3f}\t{_memory('VmHWM')}\n".encode())
    os._exit(0)


def _memory(name):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))
