"""Pictures with matplotlib."""
