"""Chunk Assets: chunk, embed, index, evaluate, and prove where every vector came from."""
