"""Ratios against published figures, peers and limits; `results/` holds the last tables."""
