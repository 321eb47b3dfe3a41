"""Choosing with honesty: splits, folds, the path over C, and the test set that stays sealed."""
