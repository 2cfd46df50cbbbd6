"""What importance weights are worth, and simple ways to make them less extreme."""
