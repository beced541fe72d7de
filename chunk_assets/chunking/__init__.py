"""Cutting documents into chunks with exact spans."""
