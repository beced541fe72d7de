"""`embedder_config`: the root of every vector of an index."""

import dagster as dg
import pyarrow as pa

from chunk_assets.assets.recording import Recorder
from chunk_assets.corpus import Corpus
from chunk_assets.lineage.identity import canonical_json
from partitions.definitions import CorpusPartitions
from resources.platform import Platform
from resources.schemas import CORPUS_TABLES

STAGE = "embedder_config"


def build_embedder_config(corpus: Corpus, partitions: CorpusPartitions) -> dg.AssetsDefinition:
    """The asset of one corpus."""

    @dg.asset(
        key=[corpus.name, STAGE],
        partitions_def=partitions.index,
        group_name=corpus.name,
        kinds={"yaml"},
        code_version="1",
    )
    def embedder_config(
        context: dg.AssetExecutionContext, platform: dg.ResourceParam[Platform]
    ) -> dg.MaterializeResult[None]:
        """A row is one index's embedder; the data version is the embedder's fingerprint."""
        recorder = Recorder(context, platform, corpus, STAGE)
        index = corpus.indexes[recorder.work.partition]
        embedder = platform.embedder(index.embedder)
        resolved = corpus.embedder_configs[index.embedder].model_dump(mode="json")
        row = {
            "index": index.name,
            "strategy": index.strategy,
            "embedder": index.embedder,
            "embedder_fingerprint": embedder.fingerprint,
            "dimension": embedder.dimension,
            "max_tokens": embedder.max_tokens,
            "configuration": canonical_json(resolved),
        }
        rows = pa.Table.from_pylist([row], schema=CORPUS_TABLES[STAGE])
        platform.tables.replace(corpus.table(STAGE), rows, {"index": index.name})
        return recorder.finish(
            data_version=embedder.fingerprint,
            counts={},
            table=corpus.table(STAGE),
            rows=rows,
            preview=["index", "embedder_fingerprint", "dimension", "max_tokens"],
            configuration=resolved,
            metadata={"configuration": dg.MetadataValue.json(resolved)},
        )

    return embedder_config
