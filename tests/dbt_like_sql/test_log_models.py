from small_lake import SmallLake, at


def test_quarantined_lists_what_each_stage_refused_and_why(lake: SmallLake) -> None:
    lake.quarantine("documents", "b01", "scan", error="ParseError", message="no text")
    lake.quarantine("chunks", "b00|fixed", "guide", message="too deep")
    rows = lake.write().mart("quarantined")
    assert [(row["stage"], row["partition"], row["uri"], row["message"]) for row in rows] == [
        ("chunks", "b00|fixed", "guide.md", "too deep"),
        ("documents", "b01", "scan.md", "no text"),
    ]


def test_run_history_says_which_runs_changed_something(lake: SmallLake) -> None:
    for minute, (run_id, version) in enumerate(
        [("first", "a"), ("same", "a"), ("changed", "b"), ("back", "a")]
    ):
        lake.run("documents", "b00", minute, run_id=run_id, data_version=version)
    lake.run("documents", "b01", 1, run_id="elsewhere", data_version="a")
    rows = [row for row in lake.write().mart("run_history") if row["partition"] == "b00"]
    assert [(row["run_id"], row["has_changed"], row["is_latest"]) for row in rows] == [
        ("back", True, True),
        ("changed", True, False),
        ("same", False, False),
        ("first", True, False),
    ]


def test_a_run_that_its_check_refused_stands_once_with_its_last_word(lake: SmallLake) -> None:
    lake.run("chunks", "b00|fixed", 1, run_id="one", status="ok", seconds=4.0)
    lake.run("chunks", "b00|fixed", 2, run_id="one", status="check_failed", seconds=4.0)
    [row] = lake.write().mart("run_history")
    assert (row["status"], row["seconds"], row["is_latest"]) == ("check_failed", 4.0, True)


def test_stage_totals_add_up_the_runs_and_failures_of_a_stage(lake: SmallLake) -> None:
    lake.run("chunks", "b00|fixed", 1, run_id="one", seconds=1.5, tokens=10)
    lake.run("chunks", "b00|fixed", 2, run_id="two", seconds=0.5, tokens=10, status="check_failed")
    lake.run("chunks", "b01|fixed", 3, run_id="three", seconds=1.0, tokens=5)
    lake.quarantine("chunks", "b00|fixed", "guide")
    lake.quarantine("documents", "b00", "scan")
    assert lake.write().mart("stage_totals") == [
        {
            "stage": "chunks",
            "partitions": 2,
            "failed_partitions": 1,
            "quarantined": 1,
            "runs": 3,
            "tokens": 25,
            "seconds": 3.0,
            "last_finished_at": at(3),
        },
        {
            "stage": "documents",
            "partitions": 0,
            "failed_partitions": 0,
            "quarantined": 1,
            "runs": 0,
            "tokens": 0,
            "seconds": 0.0,
            "last_finished_at": None,
        },
    ]
