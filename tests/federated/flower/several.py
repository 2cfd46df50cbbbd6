"""The ServerApp of tests: one job after the other in one Flower run, which takes long to start."""

import json
from dataclasses import replace

from flwr.serverapp import ServerApp

from firecv.federated.flower.description import to_algorithm
from firecv.federated.flower.job import to_job
from firecv.federated.flower.problem import load_problem
from firecv.federated.flower.server import serve

app = ServerApp()


@app.main()
def main(grid, context):
    first = to_job(context.run_config)
    for name, change in json.loads(context.run_config["jobs"]).items():
        change["algorithm"] = to_algorithm(change["algorithm"])
        job = replace(first, checkpoint=f"{first.checkpoint}/{name}", **change)
        serve(grid, job, load_problem(job.problem))
