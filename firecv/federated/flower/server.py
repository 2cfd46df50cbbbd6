"""The server half: a ServerApp that runs the embedded engine's rounds on Flower's clients."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from firecv.federated.flower.grid import GridFleet
from firecv.federated.flower.job import Job, plan_of, to_job
from firecv.federated.flower.node_table import node_table_for
from firecv.federated.flower.nodes import Nodes
from firecv.federated.flower.outcome import ENDED, write_end
from firecv.federated.flower.problem import Problem, Settings, load_problem
from firecv.federated.history import History, RunStopped
from firecv.federated.run import run
from firecv.federated.schedule import for_run
from firecv.models import Batch


def server_app(problem: Problem | None = None) -> ServerApp:
    """Return the ServerApp of a problem.

    Parameters
    ----------
    problem
        Model and V, such as a module of the app's own; by default the module that the run
        configuration names.

    Examples
    --------
    >>> type(server_app()).__name__
    'ServerApp'
    """
    app = ServerApp()

    @app.main()
    def main(grid: Grid, context: Context) -> None:  # pyright: ignore[reportUnusedFunction]
        job = to_job(context.run_config)
        chosen = load_problem(job.problem) if problem is None else problem
        nodes = Nodes(grid, job.timeout, node_table_for(grid, job))
        print(serve(nodes, job, chosen).table().to_string(), flush=True)

    return app


def serve(nodes: Nodes, job: Job, problem: Problem) -> History:
    """Run a job on clients and return what was learned.

    Parameters
    ----------
    nodes
        Where clients are.
    job
        What to run; if its checkpoint holds rounds, it goes on from there.
    problem
        Model and V.
    """
    job = replace(job, algorithm=for_run(job.algorithm, job.n_rounds))
    if job.checkpoint is not None:
        Path(job.checkpoint, ENDED).unlink(missing_ok=True)
    try:
        history = run(
            plan_of(job, problem),
            GridFleet(nodes, job.algorithm, job.seed),
            job.n_rounds,
            checkpoint=job.checkpoint,
            evaluate_on=_sets(problem, job.settings),
            every=job.every,
            progress=False,
        )
    except RunStopped as stopped:
        if job.checkpoint is not None:
            write_end(job.checkpoint, stopped.history, is_error=True)
        raise
    if job.checkpoint is not None:
        write_end(job.checkpoint, history, is_error=False)
    return history


def _sets(problem: Problem, settings: Settings) -> Mapping[str, Batch] | None:
    """Return what the weights are judged on at the server."""
    load: Callable[[Settings], Mapping[str, Batch]] | None = getattr(problem, "load_sets", None)
    return None if load is None else load(settings)
