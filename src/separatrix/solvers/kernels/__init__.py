"""Kernel models: rows of the kernel, chunking, SMO, Crammer-Singer."""
