-- A row is one stage: its partitions, what they cost so far, and what failed in them.
with ranked_runs as (
    select
        stage,
        partition,
        run_id,
        status,
        tokens,
        seconds,
        finished_at,
        row_number() over (
            partition by stage, partition
            order by finished_at desc, run_id desc
        ) as runs_since
    from stg_runs
),

stage_runs as (
    select
        stage,
        count(*) filter (where runs_since = 1) as partitions,
        count(*) filter (where runs_since = 1 and status = 'check_failed') as failed_partitions,
        count(*) as runs,
        coalesce(sum(tokens), 0)::bigint as tokens,
        coalesce(round(sum(seconds), 3), 0) as seconds,
        max(finished_at) as last_finished_at
    from ranked_runs
    group by stage
),

stage_quarantine as (
    select
        stage,
        count(*) as quarantined
    from stg_quarantine
    group by stage
)

select
    coalesce(stage_runs.stage, stage_quarantine.stage) as stage,
    coalesce(stage_runs.partitions, 0) as partitions,
    coalesce(stage_runs.failed_partitions, 0) as failed_partitions,
    coalesce(stage_quarantine.quarantined, 0) as quarantined,
    coalesce(stage_runs.runs, 0) as runs,
    coalesce(stage_runs.tokens, 0) as tokens,
    coalesce(stage_runs.seconds, 0) as seconds,
    stage_runs.last_finished_at
from stage_runs
full join stage_quarantine on stage_runs.stage = stage_quarantine.stage
order by 1
