"""The fewest training errors of any hyperplane."""
