-- A quarantined row names its document and its error, and was not seen last before it was first.
select
    stage,
    partition,
    uri,
    error,
    message,
    first_seen,
    last_seen
from quarantined
where
    coalesce(uri, '') = ''
    or coalesce(error, '') = ''
    or coalesce(message, '') = ''
    or first_seen is null
    or last_seen is null
    or last_seen < first_seen
order by stage, partition, uri
