"""One algorithm a file: arrays in, claims out."""
