"""Choosing between models: folds, the path over C, and what it tells."""
