"""Files that outlive the process: the model file."""
