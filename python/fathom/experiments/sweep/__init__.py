"""Sweeping: all combinations of parameters, or as many of them as show where the others lie."""
