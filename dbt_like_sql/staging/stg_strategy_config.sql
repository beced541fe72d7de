-- A row is one strategy: what it resolves to.
select
    strategy,
    strategy_fingerprint,
    configuration,
    tokenizer,
    tokenizer_fingerprint
from lake.strategy_config
