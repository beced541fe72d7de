-- A document stands once under each strategy.
select
    strategy,
    document_id,
    count(*) as copies
from coverage
group by strategy, document_id
having count(*) > 1
order by strategy, document_id
