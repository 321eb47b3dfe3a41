"""Sparse weights: a working set of columns, and Newton's steps on it."""
