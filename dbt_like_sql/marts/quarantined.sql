-- A row is one document (or chunk) that a stage cannot process now, and why.
select
    stage,
    partition,
    uri,
    document_id,
    error,
    message,
    input_version,
    first_seen,
    last_seen,
    run_id
from stg_quarantine
order by stage, partition, uri, document_id, input_version, message
