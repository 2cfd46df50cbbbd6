"""Where runs are carried out: processes of this machine, or a Dask or Ray cluster, by joblib."""

import os
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Literal, cast, get_args

from firecv.errors import DataError, FirecvError
from firecv.experiments.execute import Failed, execute
from firecv.experiments.spec import Run
from firecv.experiments.store import Record

Engine = Literal["loky", "dask", "ray"]
"""How processes are started: by joblib itself, or on a cluster of Dask or Ray."""
Answers = Iterator[Record | Failed]
Workers = Callable[[Iterable[Run]], Answers]
LOOPBACK = "127.0.0.1"


@contextmanager
def workers(engine: Engine, n_jobs: int, cluster: str | None = None) -> Generator[Workers]:
    """Give a function that carries out runs and yields what comes of them, as it comes.

    Parameters
    ----------
    engine
        Who runs the processes.
    n_jobs
        How many runs at a time.
    cluster
        Address of a Dask scheduler or a Ray head; without one a local cluster is started on
        loopback and stopped in the end.
    """
    if engine not in get_args(Engine):
        raise DataError(f"there is no engine {engine!r}; choose from {', '.join(get_args(Engine))}")
    if n_jobs < 1:
        raise DataError(f"n_jobs must be at least 1, got {n_jobs}")
    from joblib import Parallel, delayed, parallel_config

    with ExitStack() as stack:
        if engine == "loky":
            stack.enter_context(parallel_config("loky", inner_max_num_threads=1))
        elif engine == "dask":
            stack.enter_context(_dask(n_jobs, cluster))
            stack.enter_context(parallel_config("dask"))
        else:
            stack.enter_context(_ray(n_jobs, cluster))
            stack.enter_context(parallel_config("ray"))
        at_once: Any = {"pre_dispatch": n_jobs, "batch_size": 1}  # joblib says these are words
        parallel = Parallel(n_jobs, return_as="generator_unordered", **at_once)
        yield lambda runs: cast(Answers, parallel(delayed(execute)(run) for run in runs))


@contextmanager
def _dask(n_jobs: int, cluster: str | None) -> Generator[None]:
    try:
        from dask.distributed import Client, LocalCluster
    except ImportError as error:
        raise FirecvError(
            "the engine 'dask' needs dask: pip install 'dask[distributed]'"
        ) from error
    with ExitStack() as stack:
        if cluster is None:
            settings: Any = {"dashboard_address": None, "silence_logs": 50}
            local: Any = LocalCluster(
                n_workers=n_jobs, threads_per_worker=1, host=LOOPBACK, **settings
            )
            cluster = str(stack.enter_context(local).scheduler_address)
        stack.enter_context(Client(cluster))
        yield


@contextmanager
def _ray(n_jobs: int, cluster: str | None) -> Generator[None]:
    try:
        import ray
        from joblib import register_parallel_backend
        from ray.util.joblib.ray_backend import RayBackend
    except ImportError as error:
        raise FirecvError("the engine 'ray' needs Ray: pip install ray") from error
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    if cluster is None:
        ray.init(
            num_cpus=n_jobs,
            include_dashboard=False,
            _node_ip_address=LOOPBACK,
            log_to_driver=False,
            configure_logging=False,
        )
    else:
        ray.init(cluster, log_to_driver=False)
    try:
        register_parallel_backend("ray", _yielding(RayBackend))
        yield
    finally:
        ray.shutdown()


def _yielding(backend: type) -> type:
    """Return Ray's engine with leave to yield results as they come, which it can do."""
    return type("YieldingRay", (backend,), {"supports_return_generator": True})
