-- Covered and uncovered characters are counts that add up to the document's non-blank ones.
select
    strategy,
    document_id,
    covered_characters,
    uncovered_characters,
    nonblank_characters,
    characters
from coverage
where
    covered_characters < 0
    or uncovered_characters < 0
    or covered_characters + uncovered_characters <> nonblank_characters
    or nonblank_characters > characters
order by strategy, document_id
