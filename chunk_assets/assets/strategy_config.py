"""`strategy_config`: the root of everything a strategy makes."""

import dagster as dg
import pyarrow as pa

from chunk_assets.assets.recording import Recorder
from chunk_assets.corpus import Corpus
from chunk_assets.lineage.identity import canonical_json
from partitions.definitions import CorpusPartitions
from resources.platform import Platform
from resources.schemas import CORPUS_TABLES

STAGE = "strategy_config"


def build_strategy_config(corpus: Corpus, partitions: CorpusPartitions) -> dg.AssetsDefinition:
    """The asset of one corpus."""

    @dg.asset(
        key=[corpus.name, STAGE],
        partitions_def=partitions.strategy,
        group_name=corpus.name,
        kinds={"yaml"},
        code_version="1",
    )
    def strategy_config(
        context: dg.AssetExecutionContext, platform: dg.ResourceParam[Platform]
    ) -> dg.MaterializeResult[None]:
        """A row is one strategy: its resolved settings; the data version is their fingerprint."""
        recorder = Recorder(context, platform, corpus, STAGE)
        name = recorder.work.partition
        platform.check_limits()
        tokenizer = platform.tokenizer(corpus, name)
        strategy_fingerprint = platform.strategy_fingerprint(corpus, name)
        resolved = corpus.strategy_configs[name].resolved()
        row = {
            "strategy": name,
            "strategy_fingerprint": strategy_fingerprint,
            "configuration": canonical_json(resolved),
            "tokenizer": None if tokenizer is None else tokenizer.name,
            "tokenizer_fingerprint": None if tokenizer is None else tokenizer.fingerprint,
        }
        rows = pa.Table.from_pylist([row], schema=CORPUS_TABLES[STAGE])
        platform.tables.replace(corpus.table(STAGE), rows, {"strategy": name})
        return recorder.finish(
            data_version=strategy_fingerprint,
            counts={},
            table=corpus.table(STAGE),
            rows=rows,
            preview=["strategy", "strategy_fingerprint", "configuration"],
            configuration=resolved,
            metadata={"configuration": dg.MetadataValue.json(resolved)},
        )

    return strategy_config
