"""Least squares, Fisher and Gaussian classes."""
