"""Choosing between machines: folds, the path over C, and what it tells."""
