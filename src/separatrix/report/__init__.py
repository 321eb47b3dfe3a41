"""A study in one page: the facts it found, and the page that tells them."""
