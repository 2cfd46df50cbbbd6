"""The networks of the paper and the `Task` that ties a model to its loss."""

from firecv.models.cnn import cnn
from firecv.models.head import head_name, scores_and_features
from firecv.models.leading import LeadingLinear, leading_linear
from firecv.models.mlp import federated_mlp, mlp, table_mlp
from firecv.models.task import Batch, Task, batches

__all__ = [
    "Batch",
    "LeadingLinear",
    "Task",
    "batches",
    "cnn",
    "federated_mlp",
    "head_name",
    "leading_linear",
    "mlp",
    "scores_and_features",
    "table_mlp",
]
