"""Identity, fingerprints and lineage: what made what."""
