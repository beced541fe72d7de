from small_lake import SmallLake, at

STAGES_OF_RUNS = {
    "raw_documents": "b00",
    "documents": "b00",
    "chunks": "b00|sections",
    "embeddings": "b00|sections__minilm",
    "collections": "sections__minilm",
}


def _one_point(lake: SmallLake) -> str:
    lake.document("guide", "One two.")
    lake.strategy("sections")
    lake.chunk("sections", "guide", 0, 8, heading_path=["Top"], page_start=3)
    return lake.index("sections", "minilm", [2])


def test_a_point_leads_to_its_vector_chunk_document_and_source(lake: SmallLake) -> None:
    _one_point(lake)
    [row] = lake.write().mart("vector_lineage")
    assert row["point_id"] == row["chunk_id"] == "guide-0-8"
    assert row["vector_key"] == row["embedding_vector_key"] == "minilm-1 of One two."
    assert (row["span_start"], row["span_end"]) == (0, 8)
    assert (row["heading_path"], row["page_start"]) == (["Top"], 3)
    assert (row["uri"], row["collection"]) == ("guide.md", "handbook__sections__minilm")
    assert row["content_hash"] == row["source_content_hash"] == "bytes of guide"
    assert row["source_size_bytes"] == 8


def test_a_point_names_every_fingerprint_that_made_it(lake: SmallLake) -> None:
    _one_point(lake)
    [row] = lake.write().mart("vector_lineage")
    assert row["parser_fingerprint"] == "parser-1"
    assert row["strategy_fingerprint"] == "sections-1"
    assert row["embedder_fingerprint"] == row["vector_embedder_fingerprint"] == "minilm-1"
    assert row["text_hash"] == "text of guide"


def test_a_point_names_the_run_the_code_and_the_commit_of_each_stage(lake: SmallLake) -> None:
    _one_point(lake)
    for minute, (stage, partition) in enumerate(STAGES_OF_RUNS.items()):
        lake.run(
            stage, partition, minute, code_version=f"{stage}-code", git_commit=f"{stage}-commit"
        )
    [row] = lake.write().mart("vector_lineage")
    for stage, prefix in {
        **{stage: stage for stage in STAGES_OF_RUNS if stage != "collections"},
        "collections": "point",
    }.items():
        assert row[f"{prefix}_run_id"] == f"run-{stage}"
        assert row[f"{prefix}_code_version"] == f"{stage}-code"
        assert row[f"{prefix}_git_commit"] == f"{stage}-commit"


def test_the_run_of_a_partition_is_its_latest(lake: SmallLake) -> None:
    _one_point(lake)
    lake.run("chunks", "b00|sections", 1, run_id="earlier")
    lake.run("chunks", "b00|sections", 3, run_id="latest", status="check_failed")
    lake.run("chunks", "b00|sections", 2, run_id="between")
    lake.run("chunks", "b01|sections", 9, run_id="of another bucket")
    lake.run("chunks", "b00|windows", 9, run_id="of another strategy")
    [row] = lake.write().mart("vector_lineage")
    assert row["chunks_run_id"] == "latest"


def test_a_vector_keeps_the_run_that_made_it(lake: SmallLake) -> None:
    index = _one_point(lake)
    lake.rows["vectors"][0]["run_id"] = "first"
    lake.run("embeddings", f"b00|{index}", 1, run_id="first", code_version="old")
    lake.run("embeddings", f"b00|{index}", 2, run_id="second", code_version="new")
    [row] = lake.write().mart("vector_lineage")
    assert (row["vector_run_id"], row["vector_code_version"]) == ("first", "old")
    assert (row["embeddings_run_id"], row["embeddings_code_version"]) == ("second", "new")


def test_a_vector_that_two_runs_stored_is_the_latest_ones_and_makes_one_row(
    lake: SmallLake,
) -> None:
    _one_point(lake)
    twin = lake.rows["vectors"][0] | {"run_id": "late", "created_at": at(5)}
    lake.rows["vectors"].append(twin)
    [row] = lake.write().mart("vector_lineage")
    assert (row["vector_run_id"], row["vector_created_at"]) == ("late", at(5))


def test_the_same_chunk_in_two_strategies_is_not_confused(lake: SmallLake) -> None:
    lake.document("guide", "One two.")
    for strategy, heading in (("sections", "Top"), ("windows", "None")):
        lake.strategy(strategy)
        lake.chunk(strategy, "guide", 0, 8, heading_path=[heading])
        lake.index(strategy, "minilm", [2])
    rows = lake.write().mart("vector_lineage")
    assert [(row["index"], row["strategy_fingerprint"], row["heading_path"]) for row in rows] == [
        ("sections__minilm", "sections-1", ["Top"]),
        ("windows__minilm", "windows-1", ["None"]),
    ]


def test_a_point_whose_document_is_gone_is_shown_with_nulls(lake: SmallLake) -> None:
    _one_point(lake)
    for table in ("documents", "raw_documents", "chunks", "embeddings"):
        lake.rows[table].clear()
    [row] = lake.write().mart("vector_lineage")
    assert (row["point_id"], row["point_document_id"]) == ("guide-0-8", "guide")
    assert row["vector_created_at"] == at(0)
    assert row["chunk_id"] is None
    assert row["document_id"] is None
