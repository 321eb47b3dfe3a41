"""Linear models of all classes at once: Crammer-Singer and multinomial."""
