-- A point stands once in its index.
select
    index,
    point_id,
    count(*) as copies
from vector_lineage
group by index, point_id
having count(*) > 1
order by index, point_id
