"""From raw bytes to normalized text plus blocks."""
