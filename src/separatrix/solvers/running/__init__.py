"""What runs any solver: slices, status, threads, the order of rows."""
