"""The Dagster assets, one file a stage: read what changed, call the core, write, report."""
