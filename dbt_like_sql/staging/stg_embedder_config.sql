-- A row is one index: the strategy and the embedder it joins.
select
    index,
    strategy,
    embedder,
    embedder_fingerprint,
    dimension,
    max_tokens,
    configuration
from lake.embedder_config
