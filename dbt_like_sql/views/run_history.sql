-- A row is one materialization: what it cost, and whether it changed anything.
with ordered_runs as (
    select
        stage,
        partition,
        run_id,
        status,
        data_version,
        code_version,
        git_commit,
        counts,
        tokens,
        seconds,
        finished_at,
        lag(data_version) over (
            partition by stage, partition
            order by finished_at, run_id
        ) as previous_version,
        row_number() over (
            partition by stage, partition
            order by finished_at desc, run_id desc
        ) as runs_since
    from stg_runs
)

select
    finished_at,
    stage,
    partition,
    run_id,
    status,
    runs_since = 1 as is_latest,
    data_version is distinct from previous_version as has_changed,
    tokens,
    seconds,
    counts,
    code_version,
    git_commit,
    data_version
from ordered_runs
order by finished_at desc, stage, partition, run_id
