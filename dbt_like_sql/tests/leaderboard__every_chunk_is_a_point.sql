-- What was evaluated is complete: the collection has a point for every chunk of the index.
select
    gold_set,
    index,
    chunks,
    points
from leaderboard
where chunks <> points
order by gold_set, index
