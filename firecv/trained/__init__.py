"""A model of the user's own table: trained, kept in a folder, asked for predictions."""

from firecv.trained.fitting import estimator_of, train
from firecv.trained.model import Facts, Trained, load_trained

__all__ = ["Facts", "Trained", "estimator_of", "load_trained", "train"]
