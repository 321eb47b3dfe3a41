"""Whether a hyperplane separates the classes, with what proves it."""
