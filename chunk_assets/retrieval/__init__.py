"""Searching collections; evaluation uses the very same code."""
