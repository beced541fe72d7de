-- A row is one materialization of one partition.
-- A run is logged when it has written, and again when its checks have run; the last word counts.
select
    corpus,
    stage,
    partition,
    run_id,
    status,
    data_version,
    inputs,
    code_version,
    git_commit,
    configuration,
    counts,
    tokens,
    seconds,
    finished_at
from lake.runs
qualify row_number() over (partition by stage, partition, run_id order by finished_at desc) = 1
