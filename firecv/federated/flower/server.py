"""The server half: a ServerApp that runs the rounds of the embedded engine on Flower's clients."""

from pathlib import Path

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from firecv.federated.engine import State, rounds
from firecv.federated.flower.grid import GridFleet
from firecv.federated.flower.job import Job, plan_of, to_job
from firecv.federated.flower.outcome import write
from firecv.federated.flower.problem import Problem, load_problem


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
        serve(grid, job, load_problem(job.problem) if problem is None else problem)

    return app


def serve(grid: Grid, job: Job, problem: Problem) -> State:
    """Run a job on the clients that a grid reaches and return what the server knows then.

    Parameters
    ----------
    grid
        Reaches the clients.
    job
        What to run.
    problem
        Model and V.
    """
    fleet = GridFleet(grid, job.algorithm, job.seed, job.timeout)
    plan, done = plan_of(job, problem), []
    for found in rounds(plan, fleet, job.n_rounds):
        done.append(found)
        if job.checkpoint is not None:
            write(Path(job.checkpoint), done)
        for client, reason in found.failures.items():
            print(f"round {found.state.round}: client {client}: {reason}", flush=True)
        print(f"round {found.state.round}: {len(found.clients)} clients", flush=True)
    return done[-1].state
