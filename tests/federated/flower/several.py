"""The ServerApp of tests: one job after the other in one Flower run, which takes long to start."""

import json
from dataclasses import replace

from flwr.serverapp import ServerApp

from firecv.federated.flower.description import to_algorithm
from firecv.federated.flower.job import to_job
from firecv.federated.flower.nodes import Nodes
from firecv.federated.flower.problem import load_problem
from firecv.federated.flower.server import serve

app = ServerApp()


@app.main()
def main(grid, context):
    first = to_job(context.run_config)
    nodes = Nodes(grid, first.timeout)
    for name, (algorithm, participation) in json.loads(context.run_config["jobs"]).items():
        job = replace(
            first,
            algorithm=to_algorithm(algorithm),
            participation=participation,
            checkpoint=f"{first.checkpoint}/{name}",
        )
        serve(nodes, job, load_problem(job.problem))
