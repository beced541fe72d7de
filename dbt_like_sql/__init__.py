"""SQL models over the tables of a corpus, run by DuckDB.

`staging/` names what the tables hold, `marts/` answers questions and is stored, `views/` answers
questions about the log of runs (stored, they would be out of date by their own run), `tests/`
selects rows that must not exist.
"""
