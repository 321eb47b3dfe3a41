"""The same models where rows come in blocks."""
