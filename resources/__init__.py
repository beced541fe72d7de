"""What the assets are given: tables, warehouse, sources, embedders, vector store."""
