"""FIRE: Fisher information of fragments and of the validation set steers training."""
