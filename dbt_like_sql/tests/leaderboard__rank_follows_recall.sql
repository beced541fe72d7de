-- Ranks count up from 1 without gaps, and no index stands above one with a higher recall.
with neighbours as (
    select
        gold_set,
        index,
        rank,
        coalesce(budget_span_recall_mean, evidence_recall_mean, document_recall_mean) as recall,
        row_number() over (partition by gold_set order by rank) as place,
        lag(
            coalesce(budget_span_recall_mean, evidence_recall_mean, document_recall_mean)
        ) over (partition by gold_set order by rank) as recall_above
    from leaderboard
)

select
    gold_set,
    index,
    rank,
    recall,
    recall_above
from neighbours
where rank <> place or recall > recall_above
order by gold_set, rank
