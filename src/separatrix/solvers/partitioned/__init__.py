"""The machines on rows that come in blocks: from disk, or on the workers of a cluster."""
