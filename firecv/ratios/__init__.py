"""Density ratios p_target / p_train, estimated from two samples."""
