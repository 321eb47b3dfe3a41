"""How raw columns and texts become features and labels, kept with the model."""
