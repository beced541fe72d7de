-- A gold set ranks each index once.
select
    gold_set,
    index,
    count(*) as copies
from leaderboard
group by gold_set, index
having count(*) > 1
order by gold_set, index
