"""Methods of one update a row: perceptron, Kozinec, delta rule, SGD, and their kernel forms."""
