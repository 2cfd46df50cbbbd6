"""Thousands of small networks for tables, trained as one.

All models of a stack see the same rows, each with row weights, scaling, strength and initial
weights of its own: folds, repeats and strengths of one table. The first layer of all of them is one
product with the shared matrix, and nothing is differentiated automatically.
"""

from firecv.stacked.predict import predict_stack
from firecv.stacked.prepare import Distinct, Scales, initial_weights, merge_duplicates, standardise
from firecv.stacked.run import run_stacks
from firecv.stacked.settings import StackSettings
from firecv.stacked.stack import Carried, Stack, StackResult
from firecv.stacked.train import train_stack

__all__ = [
    "Carried",
    "Distinct",
    "Scales",
    "Stack",
    "StackResult",
    "StackSettings",
    "initial_weights",
    "merge_duplicates",
    "predict_stack",
    "run_stacks",
    "standardise",
    "train_stack",
]
