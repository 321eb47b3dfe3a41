"""One reader for each kind of file; `by_kind` chooses."""
