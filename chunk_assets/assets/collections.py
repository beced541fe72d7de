"""`collections`: what is searched."""

import dagster as dg
import pyarrow as pa

from chunk_assets.assets.index_points import index_points
from chunk_assets.assets.recording import Recorder
from chunk_assets.corpus import Corpus
from chunk_assets.lineage.identity import data_version
from chunk_assets.retrieval.publish import Difference, publish
from partitions.definitions import CorpusPartitions
from partitions.mappings import by_dimension
from resources.platform import Platform
from resources.schemas import CORPUS_TABLES

STAGE = "collections"


def build_collections(corpus: Corpus, partitions: CorpusPartitions) -> dg.AssetsDefinition:
    """The asset of one corpus."""

    @dg.asset(
        key=[corpus.name, STAGE],
        partitions_def=partitions.index,
        deps=[dg.AssetDep([corpus.name, "embeddings"], partition_mapping=by_dimension("index"))],
        group_name=corpus.name,
        kinds={"qdrant"},
        code_version="1",
    )
    def collections(
        context: dg.AssetExecutionContext, platform: dg.ResourceParam[Platform]
    ) -> dg.MaterializeResult[None]:
        """A row is one point of the index's Qdrant collection; aliases move when it is complete."""
        recorder = Recorder(context, platform, corpus, STAGE)
        index = corpus.indexes[recorder.work.partition]
        partition = {"index": index.name}
        table = corpus.table(STAGE)
        name = platform.collection_name(corpus, index)
        store = platform.vector_store
        store.create(name, platform.embedder(index.embedder).dimension)
        with store.open(name, on_wait=context.log.info) as collection:
            # Read behind the lock: a run that waited for another one sees what that one wrote.
            previous = platform.tables.read(table, where=partition)
            generation = 1 + max(previous["generation"].to_pylist(), default=0)
            points = index_points(
                platform,
                corpus,
                index,
                embeddings=platform.read(corpus, "embeddings", where=partition),
                provenance={"generation": generation, "run_id": recorder.run_id},
            )
            before = {
                row["chunk_id"]: row for row in previous.to_pylist() if row["collection"] == name
            }

            rows = previous

            def commit(done: Difference) -> None:
                nonlocal rows
                written = {*done.write, *done.update}
                rows = pa.Table.from_pylist(
                    [
                        {
                            **partition,
                            "collection": name,
                            "chunk_id": identity,
                            "document_id": points.chunks[identity]["document_id"],
                            "vector_key": point.vector_key,
                            "payload_hash": point.payload_hash,
                            **(
                                points.provenance
                                if identity in written or identity not in before
                                else {field: before[identity][field] for field in points.provenance}
                            ),
                        }
                        for identity, point in sorted(points.wanted.items())
                    ],
                    schema=CORPUS_TABLES[STAGE],
                )
                if not rows.equals(previous) or not platform.tables.exists(table):
                    platform.tables.replace(table, rows, partition)

            done = publish(
                collection,
                points.wanted,
                points,
                commit=commit,
                on_progress=lambda n, total: context.log.debug(f"{n} of {total} points written"),
            )
        store.set_alias(f"{corpus.name}__{index.name}", name)
        if corpus.served_index == index.name:
            store.set_alias(corpus.name, name)
        new = [identity for identity in done.write if identity not in before]
        return recorder.finish(
            data_version=data_version(
                STAGE,
                [[name], *([i, p.vector_key, p.payload_hash] for i, p in points.wanted.items())],
            ),
            counts={
                "points": rows.num_rows,
                "written": len(done.write),
                "new": len(new),
                "updated": len(done.update),
                "deleted": len(done.delete),
                "unchanged": rows.num_rows - len(done.write) - len(done.update),
            },
            table=table,
            rows=rows,
            preview=["collection", "chunk_id", "vector_key", "generation"],
            tokens=sum(row["tokens"] for row in points.embeddings.values()),
            metadata={
                "collection": dg.MetadataValue.text(name),
                "generation": dg.MetadataValue.int(generation),
            },
        )

    return collections
