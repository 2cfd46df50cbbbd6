"""Readers of published file formats: arrays or data frames out, nothing unpickled."""
