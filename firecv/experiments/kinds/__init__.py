"""Kinds of experiments, one file each."""
