"""Linear models of two classes: `choose` picks the solver, `contract` says what each returns."""
