"""Turning texts into vectors, each text once."""
