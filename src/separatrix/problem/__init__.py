"""What is being solved, as arrays and formulas."""
