-- Every non-blank character lies in a chunk, or quarantine says why not.
select
    strategy,
    uri,
    document_id,
    uncovered_characters,
    first_uncovered_at
from coverage
where state = 'lost'
order by strategy, uri
