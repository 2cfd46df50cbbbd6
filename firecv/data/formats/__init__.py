"""Readers of published file formats: files in, plain arrays or data frames out; nothing is unpickled."""
