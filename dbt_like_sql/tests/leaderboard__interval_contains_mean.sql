-- Every interval contains its mean, and lies between 0 and 1.
with intervals as (
    select
        gold_set,
        index,
        unnest([
            'evidence_recall',
            'recall',
            'precision',
            'hit',
            'ndcg',
            'mrr',
            'span_recall',
            'span_iou',
            'budget_span_recall',
            'budget_span_iou',
            'precision_omega',
            'document_recall'
        ]) as headline,
        unnest([
            evidence_recall_mean,
            recall_mean,
            precision_mean,
            hit_mean,
            ndcg_mean,
            mrr_mean,
            span_recall_mean,
            span_iou_mean,
            budget_span_recall_mean,
            budget_span_iou_mean,
            precision_omega_mean,
            document_recall_mean
        ]) as mean,
        unnest([
            evidence_recall_low,
            recall_low,
            precision_low,
            hit_low,
            ndcg_low,
            mrr_low,
            span_recall_low,
            span_iou_low,
            budget_span_recall_low,
            budget_span_iou_low,
            precision_omega_low,
            document_recall_low
        ]) as low,
        unnest([
            evidence_recall_high,
            recall_high,
            precision_high,
            hit_high,
            ndcg_high,
            mrr_high,
            span_recall_high,
            span_iou_high,
            budget_span_recall_high,
            budget_span_iou_high,
            precision_omega_high,
            document_recall_high
        ]) as high
    from leaderboard
)

-- Means and resampled means are rounded differently: hence the tolerance.
select
    gold_set,
    index,
    headline,
    low,
    mean,
    high
from intervals
where not (
    low between -1e-9 and mean + 1e-9
    and high between mean - 1e-9 and 1 + 1e-9
)
order by gold_set, index, headline
