"""Claims checked from the data alone, by code that shares nothing with the solvers."""
