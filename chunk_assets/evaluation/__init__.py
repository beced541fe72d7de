"""Gold sets, metrics and their uncertainty."""
