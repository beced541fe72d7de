-- A chunk id stands once in its strategy.
select
    strategy,
    chunk_id,
    count(*) as copies
from stg_chunks
group by strategy, chunk_id
having count(*) > 1
order by strategy, chunk_id
