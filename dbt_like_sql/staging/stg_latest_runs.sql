-- A row is one partition of one stage: the run that wrote what is there now.
-- That may be a run whose check failed: it has written all the same.
select
    stage,
    partition,
    run_id,
    status,
    data_version,
    code_version,
    git_commit,
    finished_at
from lake.runs
qualify row_number() over (partition by stage, partition order by finished_at desc, run_id desc) = 1
