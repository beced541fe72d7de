-- A row is one document (or chunk) that a stage could not process.
select
    corpus,
    stage,
    partition,
    document_id,
    uri,
    input_version,
    error,
    message,
    first_seen,
    last_seen,
    run_id
from lake.quarantine
