-- A row is one index on one gold set: its headline metrics with intervals, its size and its cost.
-- A gold set may be scored at other cutoffs than the wanted ones. Each headline then takes the
-- nearest cutoff there is (the larger of two), the same for all indexes of the gold set, and shows
-- it in its `_k` or `_tokens` column.
with headlines (headline, metric, cutoff_unit, wanted) as (
    values
        ('evidence_recall', 'evidence_recall', 'chunks', 5),
        ('recall', 'recall', 'chunks', 5),
        ('precision', 'precision', 'chunks', 5),
        ('hit', 'hit', 'chunks', 5),
        ('ndcg', 'ndcg', 'chunks', 10),
        ('mrr', 'recip_rank', null, 0),
        ('span_recall', 'span_recall', 'chunks', 5),
        ('span_iou', 'span_iou', 'chunks', 5),
        ('budget_span_recall', 'span_recall', 'tokens', 1000),
        ('budget_span_iou', 'span_iou', 'tokens', 1000),
        ('precision_omega', 'precision_omega', null, 0),
        ('document_recall', 'document_recall', 'documents', 5)
),

cutoffs as (
    select distinct
        headlines.headline,
        headlines.metric,
        headlines.wanted,
        summaries.gold_set,
        summaries.cutoff_unit,
        coalesce(summaries.cutoff, 0) as cutoff
    from stg_evaluation_summaries as summaries
    inner join headlines
        on summaries.metric = headlines.metric
        and summaries.cutoff_unit is not distinct from headlines.cutoff_unit
),

chosen_cutoffs as (
    select
        headline,
        metric,
        gold_set,
        cutoff_unit,
        cutoff
    from cutoffs
    qualify row_number() over (
        partition by gold_set, headline
        order by abs(cutoff - wanted), cutoff desc
    ) = 1
),

headline_values as (
    select
        summaries.gold_set,
        summaries.index,
        chosen_cutoffs.headline,
        nullif(chosen_cutoffs.cutoff, 0) as cutoff,
        summaries.mean,
        summaries.low,
        summaries.high
    from stg_evaluation_summaries as summaries
    inner join chosen_cutoffs
        on summaries.gold_set = chosen_cutoffs.gold_set
        and summaries.metric = chosen_cutoffs.metric
        and summaries.cutoff_unit is not distinct from chosen_cutoffs.cutoff_unit
        and coalesce(summaries.cutoff, 0) = chosen_cutoffs.cutoff
),

scores as (
    select
        gold_set,
        index,
        max(cutoff) filter (where headline = 'evidence_recall') as evidence_recall_k,
        max(mean) filter (where headline = 'evidence_recall') as evidence_recall_mean,
        max(low) filter (where headline = 'evidence_recall') as evidence_recall_low,
        max(high) filter (where headline = 'evidence_recall') as evidence_recall_high,
        max(cutoff) filter (where headline = 'recall') as recall_k,
        max(mean) filter (where headline = 'recall') as recall_mean,
        max(low) filter (where headline = 'recall') as recall_low,
        max(high) filter (where headline = 'recall') as recall_high,
        max(cutoff) filter (where headline = 'precision') as precision_k,
        max(mean) filter (where headline = 'precision') as precision_mean,
        max(low) filter (where headline = 'precision') as precision_low,
        max(high) filter (where headline = 'precision') as precision_high,
        max(cutoff) filter (where headline = 'hit') as hit_k,
        max(mean) filter (where headline = 'hit') as hit_mean,
        max(low) filter (where headline = 'hit') as hit_low,
        max(high) filter (where headline = 'hit') as hit_high,
        max(cutoff) filter (where headline = 'ndcg') as ndcg_k,
        max(mean) filter (where headline = 'ndcg') as ndcg_mean,
        max(low) filter (where headline = 'ndcg') as ndcg_low,
        max(high) filter (where headline = 'ndcg') as ndcg_high,
        max(mean) filter (where headline = 'mrr') as mrr_mean,
        max(low) filter (where headline = 'mrr') as mrr_low,
        max(high) filter (where headline = 'mrr') as mrr_high,
        max(cutoff) filter (where headline = 'span_recall') as span_recall_k,
        max(mean) filter (where headline = 'span_recall') as span_recall_mean,
        max(low) filter (where headline = 'span_recall') as span_recall_low,
        max(high) filter (where headline = 'span_recall') as span_recall_high,
        max(cutoff) filter (where headline = 'span_iou') as span_iou_k,
        max(mean) filter (where headline = 'span_iou') as span_iou_mean,
        max(low) filter (where headline = 'span_iou') as span_iou_low,
        max(high) filter (where headline = 'span_iou') as span_iou_high,
        max(cutoff) filter (where headline = 'budget_span_recall') as budget_span_recall_tokens,
        max(mean) filter (where headline = 'budget_span_recall') as budget_span_recall_mean,
        max(low) filter (where headline = 'budget_span_recall') as budget_span_recall_low,
        max(high) filter (where headline = 'budget_span_recall') as budget_span_recall_high,
        max(cutoff) filter (where headline = 'budget_span_iou') as budget_span_iou_tokens,
        max(mean) filter (where headline = 'budget_span_iou') as budget_span_iou_mean,
        max(low) filter (where headline = 'budget_span_iou') as budget_span_iou_low,
        max(high) filter (where headline = 'budget_span_iou') as budget_span_iou_high,
        max(mean) filter (where headline = 'precision_omega') as precision_omega_mean,
        max(low) filter (where headline = 'precision_omega') as precision_omega_low,
        max(high) filter (where headline = 'precision_omega') as precision_omega_high,
        max(cutoff) filter (where headline = 'document_recall') as document_recall_k,
        max(mean) filter (where headline = 'document_recall') as document_recall_mean,
        max(low) filter (where headline = 'document_recall') as document_recall_low,
        max(high) filter (where headline = 'document_recall') as document_recall_high
    from headline_values
    group by gold_set, index
),

evaluated_indexes as (
    select
        gold_set,
        index,
        max(queries) as queries,
        max(clusters) as clusters,
        max(confidence) as confidence
    from stg_evaluation_summaries
    group by gold_set, index
),

sizes as (
    select
        index,
        count(*) as chunks,
        count(distinct vector_key) as distinct_vectors,
        sum(tokens)::bigint as tokens_total,
        avg(tokens) as tokens_mean,
        quantile_cont(tokens, 0.5) as tokens_p50,
        quantile_cont(tokens, 0.95) as tokens_p95,
        count(*) filter (where list_contains(flags, 'truncated')) as truncated_chunks
    from stg_embeddings
    group by index
),

points as (
    select
        index,
        count(*) as points
    from stg_collections
    group by index
),

-- All runs ever: a re-run of what did not change takes next to nothing, so the latest run says
-- nothing about the cost; and a vector that another index embedded first costs this one nothing.
embedding_times as (
    select
        split_part(partition, '|', 2) as index,
        round(sum(seconds), 3) as embedding_seconds
    from stg_runs
    where stage = 'embeddings'
    group by split_part(partition, '|', 2)
),

-- The same number of retrieved tokens costs a reader the same, whatever the size of the chunks: at
-- a fixed number of chunks the longest ones would win. Gold sets without a token budget are ranked
-- by the evidence found, gold that names documents only by the documents found.
ranking_values as (
    select
        gold_set,
        index,
        'budget_span_recall' as ranked_by,
        budget_span_recall_mean as mean,
        budget_span_recall_low as low,
        budget_span_recall_high as high
    from scores
    where budget_span_recall_mean is not null
    union all
    select
        gold_set,
        index,
        'evidence_recall' as ranked_by,
        evidence_recall_mean as mean,
        evidence_recall_low as low,
        evidence_recall_high as high
    from scores
    where budget_span_recall_mean is null and evidence_recall_mean is not null
    union all
    select
        gold_set,
        index,
        'document_recall' as ranked_by,
        document_recall_mean as mean,
        document_recall_low as low,
        document_recall_high as high
    from scores
    where
        budget_span_recall_mean is null
        and evidence_recall_mean is null
        and document_recall_mean is not null
),

ranking as (
    select
        evaluated_indexes.gold_set,
        evaluated_indexes.index,
        ranking_values.ranked_by,
        ranking_values.low,
        ranking_values.high,
        row_number() over (
            partition by evaluated_indexes.gold_set
            order by
                ranking_values.mean desc nulls last,
                sizes.tokens_total asc nulls last,
                evaluated_indexes.index
        ) as rank
    from evaluated_indexes
    left join ranking_values
        on evaluated_indexes.gold_set = ranking_values.gold_set
        and evaluated_indexes.index = ranking_values.index
    left join sizes on evaluated_indexes.index = sizes.index
)

select
    evaluated_indexes.gold_set,
    ranking.rank,
    evaluated_indexes.index,
    stg_embedder_config.strategy,
    stg_embedder_config.embedder,
    evaluated_indexes.queries,
    evaluated_indexes.clusters,
    evaluated_indexes.confidence,
    ranking.ranked_by,
    -- The intervals overlap: the data at hand do not tell this index from the best one.
    ranking.high >= first_value(ranking.low) over (
        partition by evaluated_indexes.gold_set
        order by ranking.rank
    ) as tied_with_best,
    scores.evidence_recall_k,
    scores.evidence_recall_mean,
    scores.evidence_recall_low,
    scores.evidence_recall_high,
    scores.recall_k,
    scores.recall_mean,
    scores.recall_low,
    scores.recall_high,
    scores.precision_k,
    scores.precision_mean,
    scores.precision_low,
    scores.precision_high,
    scores.hit_k,
    scores.hit_mean,
    scores.hit_low,
    scores.hit_high,
    scores.ndcg_k,
    scores.ndcg_mean,
    scores.ndcg_low,
    scores.ndcg_high,
    scores.mrr_mean,
    scores.mrr_low,
    scores.mrr_high,
    scores.span_recall_k,
    scores.span_recall_mean,
    scores.span_recall_low,
    scores.span_recall_high,
    scores.span_iou_k,
    scores.span_iou_mean,
    scores.span_iou_low,
    scores.span_iou_high,
    scores.budget_span_recall_tokens,
    scores.budget_span_recall_mean,
    scores.budget_span_recall_low,
    scores.budget_span_recall_high,
    scores.budget_span_iou_tokens,
    scores.budget_span_iou_mean,
    scores.budget_span_iou_low,
    scores.budget_span_iou_high,
    scores.precision_omega_mean,
    scores.precision_omega_low,
    scores.precision_omega_high,
    scores.document_recall_k,
    scores.document_recall_mean,
    scores.document_recall_low,
    scores.document_recall_high,
    coalesce(sizes.chunks, 0) as chunks,
    coalesce(sizes.distinct_vectors, 0) as distinct_vectors,
    coalesce(points.points, 0) as points,
    coalesce(sizes.truncated_chunks, 0) as truncated_chunks,
    coalesce(sizes.tokens_total, 0) as tokens_total,
    sizes.tokens_mean,
    sizes.tokens_p50,
    sizes.tokens_p95,
    coalesce(embedding_times.embedding_seconds, 0) as embedding_seconds
from evaluated_indexes
inner join ranking
    on evaluated_indexes.gold_set = ranking.gold_set and evaluated_indexes.index = ranking.index
left join scores
    on evaluated_indexes.gold_set = scores.gold_set and evaluated_indexes.index = scores.index
left join stg_embedder_config on evaluated_indexes.index = stg_embedder_config.index
left join sizes on evaluated_indexes.index = sizes.index
left join points on evaluated_indexes.index = points.index
left join embedding_times on evaluated_indexes.index = embedding_times.index
order by evaluated_indexes.gold_set, ranking.rank
