"""One reader for each format; `kinds` sees which it is, and `data.table` chooses the reader."""
