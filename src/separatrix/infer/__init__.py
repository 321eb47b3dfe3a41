"""Estimates of logistic regression with standard errors, intervals and tests, enclosed."""
