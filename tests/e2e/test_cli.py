"""The command line: what it prints, where, and with which exit code."""

import io
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from small_platform import STRATEGIES, SmallPlatform, guide

from chunk_assets import apply as applying
from chunk_assets import cli

COMMANDS = ["init", "config", "apply", "status", "search", "leaderboard", "quarantine"]
COMMANDS += ["sql", "chunk", "doctor", "ui"]
READING = ["config", "status", "leaderboard", "quarantine"]
GOLD = {
    "query_id": "q1",
    "query": "When is the pump ready?",
    "doc_id": "pump.md",
    "quotes": ["After 2 minutes the pump is ready"],
}


@dataclass(frozen=True)
class Outcome:
    """What a command printed, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:  # noqa: ANN401 - as JSON is
        """The one JSON document on standard output; `NaN` is none."""

        def refuse(constant: str) -> float:
            raise ValueError(f"{constant} is no JSON")

        return json.loads(self.out, parse_constant=refuse)


Run = Callable[..., Outcome]


def command(*arguments: str | Path) -> Outcome:
    """`chunk-assets …` in this process, through the function that the script calls."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["chunk-assets", *map(str, arguments)])
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        with pytest.raises(SystemExit) as ended:
            cli.main()
    said = []
    for stream in (out, err):
        stream.seek(0)
        said.append(stream.read())
    assert "Traceback" not in said[0] + said[1]
    return Outcome(int(ended.value.code or 0), said[0], said[1])


@pytest.fixture
def run() -> Run:
    """Runs a command."""
    return command


@dataclass(frozen=True)
class Built:
    """A small platform that the command line built."""

    small: SmallPlatform
    first: Outcome


@pytest.fixture(scope="module")
def first_build(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Built]:
    folder = tmp_path_factory.mktemp("cli")
    unopened: Any = None
    small = SmallPlatform(
        folder,
        unopened,
        strategies={"hierarchy": STRATEGIES["hierarchy"]},
        corpus={"buckets": 1, "gold": {"questions": {"path": "gold.jsonl"}}},
    )
    small.write({"pump.md": guide("pump"), "boiler.md": guide("boiler"), "a.csv": "1,2"})
    (folder / "gold.jsonl").write_text(json.dumps(GOLD))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DAGSTER_HOME", str(folder / "dagster"))
        yield Built(small, command("apply", "-c", small.configure(), "--json"))


@pytest.fixture
def built(first_build: Built) -> SmallPlatform:
    """Built once; tests leave it as it is."""
    assert first_build.first.code == 2, first_build.first.err
    return first_build.small


@pytest.fixture
def alone(small: SmallPlatform, monkeypatch: pytest.MonkeyPatch) -> SmallPlatform:
    """A corpus of its own for commands that change something."""
    monkeypatch.setenv("DAGSTER_HOME", str(small.folder / "dagster"))
    small.strategies = {"hierarchy": STRATEGIES["hierarchy"]}
    small.corpus = {"buckets": 1}
    small.configure()
    return small


class TestHelp:
    @pytest.mark.parametrize("command", COMMANDS)
    def test_every_command_explains_itself(self, run: Run, command: str) -> None:
        outcome = run(command, "--help")
        assert outcome.code == 0
        assert f"chunk-assets {command}" in outcome.out
        assert outcome.err == ""

    def test_the_help_lists_every_command_and_the_exit_codes(self, run: Run) -> None:
        out = run("--help").out
        registered = [command.name or command.callback.__name__ for command in commands()]
        assert registered == COMMANDS
        assert all(command in out for command in COMMANDS)
        assert "Exit codes: 0 done, 1 failed, 2" in out

    @pytest.mark.parametrize("command", [c for c in COMMANDS if c not in ("init", "ui")])
    def test_every_command_that_answers_offers_json(self, run: Run, command: str) -> None:
        assert "--json" in run(command, "--help").out

    def test_a_mistyped_command_is_answered_with_the_nearest(self, run: Run) -> None:
        outcome = run("statu")
        assert outcome.code == 1, "2 would say that there is something to do"
        assert "Did you mean 'status'?" in outcome.err


def commands() -> list[Any]:
    return list(cli.app.registered_commands)


class TestErrors:
    @pytest.mark.parametrize("command", READING)
    @pytest.mark.parametrize("flags", [[], ["--json"]])
    def test_a_missing_configuration_is_an_error_that_says_how_to_write_one(
        self, run: Run, tmp_path: Path, command: str, flags: list[str]
    ) -> None:
        outcome = run(command, "-c", tmp_path / "none.yaml", *flags)
        assert outcome.code == 1
        assert outcome.out == ""
        assert outcome.err.startswith(f"error: There is no configuration at {tmp_path}/none.yaml.")
        assert "chunk-assets init DIR" in outcome.err

    def test_a_mistake_in_the_configuration_is_told_whole(self, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "chunk_assets.yaml"
        path.write_text("embedders: {a: {}}\nstrategies: {b: {chunker: [x]}}\ncorpora: {}\n")
        outcome = run("config", "-c", path)
        assert outcome.code == 1
        assert "strategies.b" in outcome.err
        assert "corpora" in outcome.err

    def test_the_file_is_found_through_the_environment(
        self, run: Run, alone: SmallPlatform, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("CHUNK_ASSETS_CONFIG", str(alone.config_file))
        assert run("config", "--json").json["corpora"].keys() == {"guides"}

    def test_a_text_with_brackets_is_printed_as_it_is(self, run: Run, tmp_path: Path) -> None:
        outcome = run("config", "-c", tmp_path / "[bold]x[/bold].yaml")
        assert "[bold]x[/bold].yaml" in outcome.err

    def test_an_interrupt_says_that_nothing_is_lost(
        self, run: Run, alone: SmallPlatform, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupted(*arguments: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(applying, "apply", interrupted)
        outcome = run("apply", "-c", alone.config_file)
        assert outcome.code == 130
        assert "What was done is kept" in outcome.err


class TestConfig:
    def test_what_was_written_is_shown_and_with_resolved_every_default(
        self, run: Run, alone: SmallPlatform
    ) -> None:
        written = yaml.safe_load(run("config", "-c", alone.config_file).out)
        assert written["corpora"]["guides"] == {
            "source": {"kind": "files", "root": "docs"},
            "buckets": 1,
        }
        resolved = yaml.safe_load(run("config", "-c", alone.config_file, "--resolved").out)
        assert resolved["corpora"]["guides"]["retrieval"]["mode"] == "hybrid"
        assert resolved["strategies"]["hierarchy"]["overlap"] == 0

    def test_the_resolved_configuration_is_one_that_loads(
        self, run: Run, alone: SmallPlatform
    ) -> None:
        resolved = run("config", "-c", alone.config_file, "--resolved").out
        again = alone.folder / "again.yaml"
        again.write_text(resolved)
        assert run("config", "-c", again, "--resolved").out == resolved

    @pytest.mark.parametrize("flags", [[], ["--resolved"], ["--json"], ["--resolved", "--json"]])
    def test_a_secret_is_never_shown(
        self, run: Run, alone: SmallPlatform, monkeypatch: pytest.MonkeyPatch, flags: list[str]
    ) -> None:
        monkeypatch.setenv("QDRANT_API_KEY", "hunter2")
        alone.extra = {
            "vector_store": {"kind": "server", "url": "http://h:1", "api_key": "${QDRANT_API_KEY}"}
        }
        outcome = run("config", "-c", alone.configure(), *flags)
        assert "${QDRANT_API_KEY}" in outcome.out
        assert "hunter2" not in outcome.out + outcome.err

    def test_what_it_names_and_is_not_there_is_a_warning(
        self, run: Run, alone: SmallPlatform, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("QDRANT_KEY", raising=False)
        monkeypatch.setenv("SET", "yes")
        monkeypatch.delenv("GOLD", raising=False)
        alone.extra = {
            "vector_store": {"kind": "server", "url": "http://h:1", "api_key": "${QDRANT_KEY}"},
            "storage": "${SET}",
        }
        alone.corpus |= {
            "gold": {
                "lost": {"path": "lost.jsonl"},
                "broken": {"path": "broken.jsonl"},
                "unset": {"path": "${GOLD}/gold.jsonl"},
                "good": {"path": "good.jsonl"},
            }
        }
        (alone.folder / "good.jsonl").write_text(json.dumps(GOLD))
        (alone.folder / "broken.jsonl").write_text(json.dumps({**GOLD, "SPANS": []}))
        outcome = run("config", "-c", alone.configure(), "--json")
        assert outcome.code == 0
        assert outcome.json["corpora"].keys() == {"guides"}
        lines = outcome.err.splitlines()
        assert all(line.startswith("warning: ") for line in lines)
        for name, said in {
            "QDRANT_KEY": "not set",
            "GOLD:": "not set",
            "gold set lost": f"there is no file {alone.folder}/lost.jsonl",
            "gold set broken": "there is no key `SPANS`; did you mean `spans`?",
            "gold set unset": "GOLD is not set",
        }.items():
            (line,) = [line for line in lines if name in line]
            assert said in line
        assert len(lines) == 5

    def test_what_is_there_is_no_warning(self, run: Run, alone: SmallPlatform) -> None:
        assert run("config", "-c", alone.config_file).err == ""


class TestInit:
    def test_it_writes_a_commented_configuration_that_loads(self, run: Run, tmp_path: Path) -> None:
        outcome = run("init", tmp_path, "--corpus", "manuals")
        assert outcome.code == 0
        text = (tmp_path / "chunk_assets.yaml").read_text()
        assert text.count("#") > 10
        shown = run("config", "-c", tmp_path / "chunk_assets.yaml", "--json").json
        assert shown["corpora"].keys() == {"manuals"}
        assert "chunk-assets apply" in outcome.out

    def test_what_its_comments_offer_loads_as_well(self, run: Run, tmp_path: Path) -> None:
        run("init", tmp_path)
        path = tmp_path / "chunk_assets.yaml"
        keys = "include|exclude|serve|gold|questions|path|windows|chunker|max_words|overlap"
        keys += "|vector_store|kind|url|api_key"
        text, uncommented = re.subn(
            rf"^( *)# ( *(?:{keys}):)", r"\1\2", path.read_text(), flags=re.MULTILINE
        )
        assert uncommented == len(keys.split("|")), "a comment offers something else now"
        path.write_text(text)
        shown = run("config", "-c", path, "--json").json
        assert shown["vector_store"]["kind"] == "server"
        assert shown["corpora"]["docs"]["gold"].keys() == {"questions"}
        assert "windows" in shown["strategies"]

    def test_a_configuration_that_is_there_is_kept_unless_forced(
        self, run: Run, tmp_path: Path
    ) -> None:
        path = tmp_path / "chunk_assets.yaml"
        path.write_text("mine")
        outcome = run("init", tmp_path)
        assert outcome.code == 1
        assert f"{path} exists already" in outcome.err
        assert path.read_text() == "mine"
        assert run("init", tmp_path, "--force").code == 0
        assert path.read_text() != "mine"

    def test_a_name_that_is_no_name_is_refused_and_nothing_is_written(
        self, run: Run, tmp_path: Path
    ) -> None:
        outcome = run("init", tmp_path, "--corpus", "My Docs")
        assert outcome.code == 1
        assert outcome.err.startswith("error: --corpus: 'My Docs' is no name: ")
        assert "write 'my_docs', for example" in outcome.err
        assert list(tmp_path.iterdir()) == []

    def test_a_refused_name_leaves_the_configuration_that_is_there(
        self, run: Run, tmp_path: Path
    ) -> None:
        (tmp_path / "chunk_assets.yaml").write_text("mine")
        assert run("init", tmp_path, "--force", "--corpus", "a: b").code == 1
        assert (tmp_path / "chunk_assets.yaml").read_text() == "mine"

    def test_a_folder_that_is_none_is_refused(self, run: Run, tmp_path: Path) -> None:
        outcome = run("init", tmp_path / "nowhere")
        assert outcome.code == 1
        assert "is no folder" in outcome.err

    @pytest.mark.slow
    def test_what_it_writes_builds_a_folder_of_markdown_and_answers(
        self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / ".dagster"))
        (tmp_path / "guides").mkdir()
        (tmp_path / "guides" / "pump.md").write_text(guide("pump"))
        run("init", tmp_path)
        path = tmp_path / "chunk_assets.yaml"
        # Fewer partitions than a user would have, since each is a run.
        fewer = path.read_text().replace("buckets: 8", "buckets: 1")
        path.write_text(fewer.replace("  sentences:", "  unused:", 1))
        built = run("apply", "-c", path, "--select", "docs/hierarchy", "--json")
        assert built.code == 0
        assert built.json["documents"]["seen"] == 1
        assert built.json["embeddings"]["embedded"] > 0
        hits = run("search", "when is the pump ready", "-c", path, "--json").json
        assert hits[0]["uri"] == "guides/pump.md"


@pytest.mark.slow
class TestApply:
    def test_a_first_build_prints_one_document_with_all_counts(self, first_build: Built) -> None:
        report = first_build.first.json
        assert report.keys() >= {"runs", "seconds", "by_partition", "failed_checks", "skipped"}
        assert report["documents"] == {
            "seen": 3,
            "new": 3,
            "changed": 0,
            "unchanged": 0,
            "removed": 0,
            "quarantined": 1,
        }
        chunks = report["chunks"]
        assert chunks.keys() == {"total", "added", "kept", "moved", "removed"}
        assert chunks["total"] == chunks["added"] > 0
        assert report["embeddings"].keys() == {"embedded", "reused", "tokens"}
        assert report["embeddings"]["embedded"] == report["points"]["written"] == chunks["total"]
        assert report["points"].keys() == {"written", "updated", "deleted"}
        first = report["by_partition"][0]
        assert first["asset"] == "raw_documents"
        assert first["reasons"] == ["never materialized"]
        assert first["success"] is True
        assert len({run["run_id"] for run in report["by_partition"]}) == report["runs"]

    def test_a_second_build_says_that_there_is_nothing_to_do_and_what_is_left_out(
        self, run: Run, built: SmallPlatform
    ) -> None:
        outcome = run("apply", "-c", built.config_file)
        assert outcome.code == 2
        assert "nothing to do, 0 texts embedded" in outcome.out
        assert "1 document in quarantine: `chunk-assets quarantine`" in outcome.out
        report = run("apply", "-c", built.config_file, "--json").json
        assert report["runs"] == 0
        assert report["by_partition"] == []
        assert report["in_quarantine"] == 1
        assert report["documents"]["unchanged"] == report["documents"]["seen"] == 3

    def test_a_check_that_falls_short_is_exit_code_2_and_in_the_json(
        self, first_build: Built
    ) -> None:
        assert first_build.first.code == 2
        assert first_build.first.json["failed_checks"] == [
            "guides/documents/b00: nothing_quarantined"
        ]

    def test_a_check_that_falls_short_is_told(self, run: Run, alone: SmallPlatform) -> None:
        alone.write({"pump.md": guide("pump", 1), "table.csv": "1,2"})
        outcome = run("apply", "-c", alone.config_file, "--select", "guides/hierarchy/b00")
        assert outcome.code == 2
        assert "check fell short: guides/documents/b00: nothing_quarantined" in outcome.out
        assert "1 document in quarantine: `chunk-assets quarantine`" in outcome.out

    def test_when_all_is_right_the_exit_code_is_0_from_apply_and_status_alike(
        self, run: Run, alone: SmallPlatform
    ) -> None:
        alone.write({"pump.md": guide("pump", 1), "table.csv": "1,2"})
        codes = [run(c, "-c", alone.config_file).code for c in ("apply", "apply", "status")]
        assert codes == [2, 2, 2]
        (alone.docs / "table.csv").unlink()
        assert run("status", "-c", alone.config_file).code == 2
        assert [run(c, "-c", alone.config_file).code for c in ("apply", "apply")] == [0, 0]
        outcome = run("status", "-c", alone.config_file)
        assert (outcome.code, outcome.out) == (0, "Everything is up to date.\n")

    def test_a_source_that_cannot_be_listed_is_exit_code_1_when_the_rest_is_done(
        self, run: Run, alone: SmallPlatform
    ) -> None:
        alone.write({"pump.md": guide("pump", 1)})
        lost = {**alone.corpus, "source": {"kind": "files", "root": "elsewhere"}}
        guides = {**alone.corpus, "source": {"kind": "files", "root": "docs"}}
        alone.extra = {"corpora": {"lost": lost, "guides": guides}}
        path = alone.configure()
        outcome = run("apply", "-c", path)
        assert outcome.code == 1
        assert "✓ guides/collections/hierarchy__counting" in outcome.err
        assert "failed: corpus lost: The source folder" in outcome.out
        for flags in ([], ["--json"]):
            found = run("status", "-c", path, *flags)
            assert found.code == 1
            assert "failed: corpus lost: The source folder" in found.err
        (failed,) = run("apply", "-c", path, "--json").json["failed_corpora"]
        assert failed["corpus"] == "lost"
        assert "elsewhere does not exist" in failed["message"]

    def test_a_run_that_fails_is_exit_code_1_with_its_reason(
        self, run: Run, alone: SmallPlatform
    ) -> None:
        alone.write({"pump.md": guide("pump", 1)})
        alone.embedder_options = {"fail_on": " "}
        outcome = run("apply", "-c", alone.configure(), "--select", "guides/hierarchy/b00")
        assert outcome.code == 1
        assert (
            "failed: guides/embeddings/b00|hierarchy__counting: embedder 'counting' fails on every"
            in outcome.out
        )
        assert "✗ guides/embeddings/b00|hierarchy__counting" in outcome.err

    def test_a_limit_that_the_model_cannot_hold_is_told_before_anything_runs(
        self, run: Run, alone: SmallPlatform
    ) -> None:
        alone.strategies = {"hierarchy": {"chunker": "hierarchy", "max_tokens": 300}}
        outcome = run("apply", "-c", alone.configure())
        assert outcome.code == 1
        assert "max_tokens is 300" in outcome.err
        assert "holds 254 tokens" in outcome.err
        assert not (alone.folder / ".chunk_assets" / "tables").exists()

    def test_a_selection_that_names_nothing_is_told(self, run: Run, alone: SmallPlatform) -> None:
        outcome = run("apply", "-c", alone.config_file, "--select", "guides/hierarhy")
        assert outcome.code == 1
        assert "did you mean 'hierarchy'?" in outcome.err

    def test_standard_output_holds_nothing_but_the_json_and_progress_goes_to_standard_error(
        self, alone: SmallPlatform
    ) -> None:
        alone.write({"pump.md": guide("pump", 1)})
        support = Path(__file__).parents[1] / "support"
        command = [sys.executable, "-m", "chunk_assets.cli", "apply", "--json"]
        done = subprocess.run(
            [*command, "-c", str(alone.config_file), "--select", "guides/hierarchy/b00"],
            env={
                "PATH": "",
                "PYTHONPATH": f"{Path(__file__).parents[2]}:{support}",
                "DAGSTER_HOME": str(alone.folder / "dagster"),
                "HF_HUB_OFFLINE": "1",
            },
            capture_output=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr.decode()
        assert json.loads(done.stdout)["documents"]["seen"] == 1
        progress = done.stderr.decode()
        assert "✓ guides/chunks/b00|hierarchy" in progress
        assert "Warning" not in progress


@pytest.mark.slow
class TestStatus:
    def test_when_all_is_up_to_date_it_says_so_and_what_is_left_out(
        self, run: Run, built: SmallPlatform
    ) -> None:
        outcome = run("status", "-c", built.config_file)
        assert outcome.code == 2
        assert outcome.out.startswith("Everything is up to date.\n1 document in quarantine: ")
        as_json = run("status", "-c", built.config_file, "--json")
        assert (as_json.code, as_json.json) == (2, [])
        assert "1 document in quarantine: `chunk-assets quarantine`" in as_json.err

    def test_a_change_is_exit_code_2_with_its_reason(self, run: Run, built: SmallPlatform) -> None:
        edited = replace(built, strategies={"hierarchy": {"chunker": "hierarchy", "max_words": 9}})
        try:
            path = edited.configure()
            found = run("status", "-c", path, "--json")
            table = run("status", "-c", path)
            lines = run("status", "-c", path, "--verbose").out.splitlines()
        finally:
            built.configure()
        assert found.code == table.code == 2
        assert found.json[0] == {
            "corpus": "guides",
            "asset": "strategy_config",
            "partition": "hierarchy",
            "reasons": ["configuration changed"],
        }
        assert re.search(r"guides/strategy_config +1 +configuration changed \(1\)", table.out)
        assert re.search(r"guides/chunks +1 +strategy_config will change \(1\)", table.out)
        assert any(
            re.search(r"guides +chunks/b00\|hierarchy +strategy_config/hierarchy will change", line)
            for line in lines
        )

    def test_nothing_is_written_by_asking(self, run: Run, alone: SmallPlatform) -> None:
        assert run("status", "-c", alone.config_file).code == 2
        assert not (alone.folder / ".chunk_assets" / "tables").exists()


@pytest.mark.slow
class TestSearch:
    def test_hits_are_ranked_and_say_where_they_come_from(
        self, run: Run, built: SmallPlatform
    ) -> None:
        hits = run("search", "boiler step 1", "-c", built.config_file, "--json").json
        assert [hit["rank"] for hit in hits] == [1, 2, 3, 4, 5]
        assert hits[0].keys() >= {
            "rank",
            "score",
            "chunk_id",
            "document_id",
            "uri",
            "start",
            "end",
            "text",
            "heading_path",
        }
        assert hits[0]["uri"] == "boiler.md"
        text = (built.docs / "boiler.md").read_text()
        assert text[hits[0]["start"] : hits[0]["end"]] == hits[0]["text"]

    def test_for_people_there_is_a_line_with_the_source(
        self, run: Run, built: SmallPlatform
    ) -> None:
        out = run("search", "boiler step 1", "-c", built.config_file, "--k", "1").out
        assert re.match(r"1\. boiler\.md \[\d+, \d+\)  score \d", out)
        assert out.count(". boiler.md") == 1

    @pytest.mark.parametrize("question", [["search", "pump"], ["leaderboard"]])
    def test_what_is_out_of_date_says_so(
        self, run: Run, built: SmallPlatform, question: list[str]
    ) -> None:
        fresh = run(*question, "-c", built.config_file, "--json")
        assert {row["out_of_date"] for row in fresh.json} == {0}
        assert fresh.err == ""
        file = built.docs / "pump.md"
        before = file.read_text()
        file.write_text(before + "\nMore.\n")
        try:
            stale = run(*question, "-c", built.config_file, "--json")
            status = run("status", "-c", built.config_file, "--json")
        finally:
            file.write_text(before)
            run("apply", "-c", built.config_file)
        (number,) = {row["out_of_date"] for row in stale.json}
        assert f"This may be out of date: {number} partitions are not up to date." in stale.err
        assert "`chunk-assets status`" in stale.err
        # All of the corpus stands behind a leaderboard; a search is answered by its collection.
        stages = {item["asset"] for item in status.json}
        assert number == len(status.json) if question == ["leaderboard"] else len(stages) > number

    def test_a_source_that_is_gone_stops_no_search(self, run: Run, built: SmallPlatform) -> None:
        built.docs.rename(built.folder / "aside")
        try:
            outcome = run("search", "pump", "-c", built.config_file, "--json")
        finally:
            (built.folder / "aside").rename(built.docs)
        assert outcome.code == 0
        assert {hit["out_of_date"] for hit in outcome.json} == {None}
        assert "It cannot be told whether this is up to date: The source folder" in outcome.err

    @pytest.mark.parametrize("name", ["hierarchy", "hierarchy__counting"])
    def test_a_strategy_or_an_index_may_be_named(
        self, run: Run, built: SmallPlatform, name: str
    ) -> None:
        arguments = ["search", "pump", "-c", built.config_file, "--json", "-k", "2"]
        hits = run(*arguments, "--strategy", name, "--corpus", "guides").json
        assert hits == run(*arguments).json
        assert len(hits) == 2

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["--corpus", "guide"], "There is no corpus 'guide'"),
            (["--strategy", "hierarhy"], "did you mean 'hierarchy'"),
        ],
    )
    def test_a_wrong_name_is_told(
        self, run: Run, built: SmallPlatform, arguments: list[str], said: str
    ) -> None:
        outcome = run("search", "pump", "-c", built.config_file, *arguments)
        assert (outcome.code, outcome.out) == (1, "")
        assert said in outcome.err

    def test_before_the_first_build_it_says_how_to_build(
        self, run: Run, alone: SmallPlatform
    ) -> None:
        outcome = run("search", "pump", "-c", alone.config_file, "--json")
        assert (outcome.code, outcome.out) == (1, "")
        assert "chunk-assets apply" in outcome.err


@pytest.mark.slow
class TestLeaderboard:
    def test_every_index_is_a_row_with_intervals_tokens_and_vectors(
        self, run: Run, built: SmallPlatform
    ) -> None:
        (row,) = run("leaderboard", "-c", built.config_file, "--json").json
        assert row["index"] == "hierarchy__counting"
        assert row["rank"] == 1
        assert row["queries"] == 1
        assert row["distinct_vectors"] > 0
        assert row["tokens_total"] > 0
        assert {f"budget_span_recall_{part}" for part in ("mean", "low", "high")} <= row.keys()

    def test_for_people_it_is_a_table(self, run: Run, built: SmallPlatform) -> None:
        out = run("leaderboard", "-c", built.config_file).out
        assert "hierarchy__counting" in out
        assert "1 questions over 1 documents" in out

    def test_without_gold_it_says_what_to_do(self, run: Run, alone: SmallPlatform) -> None:
        outcome = run("leaderboard", "-c", alone.config_file)
        assert outcome.code == 0
        assert "add a gold set" in outcome.out
        assert run("leaderboard", "-c", alone.config_file, "--json").json == []


@pytest.mark.slow
class TestQuarantine:
    def test_what_could_not_be_processed_is_listed_with_its_reason(
        self, run: Run, built: SmallPlatform
    ) -> None:
        (row,) = run("quarantine", "-c", built.config_file, "--json").json
        assert (row["corpus"], row["stage"], row["uri"]) == ("guides", "documents", "a.csv")
        assert row["error"] == "ParseError"
        assert row["message"].startswith("format not supported")
        assert row["first_seen"] == row["last_seen"]
        out = run("quarantine", "-c", built.config_file).out
        assert "documents/b00" in out
        assert "a.csv" in out

    def test_an_empty_one_says_so(self, run: Run, alone: SmallPlatform) -> None:
        assert run("quarantine", "-c", alone.config_file).out == "The quarantine is empty.\n"
        assert run("quarantine", "-c", alone.config_file, "--json").json == []

    def test_what_belongs_to_a_removed_strategy_or_corpus_is_not_listed(
        self, run: Run, built: SmallPlatform
    ) -> None:
        renamed = replace(
            built,
            extra={"corpora": {"other": {"source": {"kind": "files", "root": "docs"}}}},
        )
        try:
            outcome = run("quarantine", "-c", renamed.configure(), "--json")
        finally:
            built.configure()
        assert outcome.json == []


@pytest.mark.slow
class TestSql:
    def test_models_and_tables_can_be_asked(self, run: Run, built: SmallPlatform) -> None:
        query = "select uri, count(*) as n from lake.chunks group by uri order by uri"
        rows = run("sql", query, "-c", built.config_file, "--json").json
        assert [row["uri"] for row in rows] == ["boiler.md", "pump.md"]
        assert all(row["n"] > 0 for row in rows)
        out = run("sql", "select index, rank from leaderboard", "-c", built.config_file).out
        assert "hierarchy__counting" in out

    def test_no_rows_are_no_error(self, run: Run, built: SmallPlatform) -> None:
        query = "select uri from lake.chunks where false"
        assert run("sql", query, "-c", built.config_file).out == "no rows\n"
        assert run("sql", query, "-c", built.config_file, "--json").json == []

    def test_whatever_is_selected_is_valid_json(self, run: Run, built: SmallPlatform) -> None:
        query = (
            "select 'nan'::double as a, 'inf'::double as b, [1.5, '-inf'::double] as c, null as d,"
            " 'ü\"\\' as e, date '2024-05-01' as f, 1.25::decimal(5,2) as g, true as h,"
            " 'ab'::blob as i, {'x': 'nan'::float} as j, 18446744073709551615::ubigint as k"
        )
        (row,) = run("sql", query, "-c", built.config_file, "--json").json
        assert row["a"] is None
        assert row["b"] is None
        assert row["c"] == [1.5, None]
        assert (row["d"], row["e"], row["f"], row["h"]) == (None, 'ü"\\', "2024-05-01", True)
        assert row["j"] == {"x": None}
        assert row["k"] == 18446744073709551615

    @pytest.mark.parametrize(
        ("query", "said"),
        [
            ("selec 1", "The query failed"),
            ("select nothing from leaderboard", "nothing"),
            ("drop table leaderboard", "exactly one select"),
            ("select * from leaderbord", "leaderbord"),
        ],
    )
    def test_a_query_that_fails_is_told(
        self, run: Run, built: SmallPlatform, query: str, said: str
    ) -> None:
        outcome = run("sql", query, "-c", built.config_file)
        assert (outcome.code, outcome.out) == (1, "")
        assert said in outcome.err


INLINE = '{"chunker": "hierarchy", "max_words": 20}'


class TestChunk:
    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        path = tmp_path / "pump.md"
        path.write_text(guide("pump", 2))
        return path

    def test_a_file_is_cut_with_a_strategy_written_out(self, run: Run, file: Path) -> None:
        found = run("chunk", file, "--strategy", INLINE, "--json").json
        assert found.keys() == {"document", "unit", "chunks"}
        assert found["unit"] == "words"
        assert found["document"].keys() >= {"text_length", "blocks", "warnings"}
        assert found["document"]["format"] == "markdown"
        text = file.read_text()
        assert found["document"]["text_length"] == len(text)
        for ordinal, chunk in enumerate(found["chunks"]):
            assert chunk.keys() == {
                "ordinal",
                "start",
                "end",
                "text",
                "embed_text",
                "size",
                "tokens",
                "heading_path",
                "level",
                "parent",
                "overlap_start",
                "flags",
            }
            assert chunk["ordinal"] == ordinal
            assert chunk["text"] == text[chunk["start"] : chunk["end"]]
            assert chunk["size"] <= 20
            assert chunk["tokens"] >= chunk["size"] / 2
        assert len(found["chunks"]) > 2

    def test_sizes_in_tokens_are_counted_without_loading_a_model(
        self, run: Run, file: Path
    ) -> None:
        strategy = '{"chunker": "sentence_aware", "max_tokens": 40}'
        found = run("chunk", file, "--strategy", strategy, "--json").json
        assert all(0 < chunk["tokens"] <= 40 for chunk in found["chunks"])

    def test_a_strategy_of_the_configuration_goes_by_its_name(
        self, run: Run, file: Path, alone: SmallPlatform
    ) -> None:
        arguments = ["chunk", file, "--json", "-c", alone.config_file, "--strategy"]
        by_name = run(*arguments, "hierarchy").json
        assert by_name == run(*arguments, json.dumps(STRATEGIES["hierarchy"])).json

    def test_a_corpus_lends_its_way_of_parsing(self, run: Run, alone: SmallPlatform) -> None:
        alone.write({"old/page.inc": "# One\n\nText.\n\n\n\nMore.\n"})
        alone.corpus |= {
            "parsing": {
                "formats": {"/old/*.inc": "markdown"},
                "normalize": {"collapse_blank_lines": True},
            }
        }
        file = alone.docs / "old" / "page.inc"
        arguments = ["chunk", file, "-c", alone.configure(), "--strategy", INLINE, "--json"]
        assert "format not supported" in run(*arguments).err
        document = run(*arguments, "--corpus", "guides").json["document"]
        assert document["format"] == "markdown"
        assert document["text_length"] == len("# One\n\nText.\n\nMore.\n")
        # A pin goes by the path below the root; elsewhere there is none.
        elsewhere = alone.folder / "page.inc"
        elsewhere.write_bytes(file.read_bytes())
        arguments[1] = elsewhere
        assert "format not supported" in run(*arguments, "--corpus", "guides").err

    def test_standard_input_is_read_and_its_format_can_be_pinned(
        self, run: Run, file: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def piped(*flags: str) -> Any:  # noqa: ANN401
            content = io.TextIOWrapper(io.BytesIO(file.read_bytes()))
            monkeypatch.setattr(sys, "stdin", content)
            return run("chunk", "-", "--strategy", INLINE, "--json", *flags).json

        assert piped()["document"]["format"] == "text"
        markdown = piped("--format", "markdown")
        assert (
            markdown["chunks"] == run("chunk", file, "--strategy", INLINE, "--json").json["chunks"]
        )

    def test_for_people_every_chunk_stands_below_a_line(self, run: Run, file: Path) -> None:
        out = run("chunk", file, "--strategy", INLINE).out
        assert re.search(r"0  \[0, \d+\)  \d+ words  Guide to pump", out)
        assert re.search(r"^\d+ chunks$", out, re.MULTILINE)

    def test_what_the_parser_noticed_is_shown(self, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "latin.txt"
        path.write_bytes("Größe und Maß der Tür überprüfen.".encode("latin-1") * 5)
        outcome = run("chunk", path, "--strategy", INLINE)
        assert "warning: not UTF-8" in outcome.out

    def test_an_empty_file_has_no_chunks(self, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "empty.md"
        path.touch()
        assert run("chunk", path, "--strategy", INLINE, "--json").json["chunks"] == []

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["--strategy", '{"chunker": "hierarchy"'], "--strategy is not valid JSON"),
            (["--strategy", '{"chunker": "hierarchi"}'], "did you mean 'hierarchy'"),
            (["--strategy", '{"chunker": "hierarchy", "max_token": 5}'], "'max_token'"),
            (["--strategy", '{"chunker": "hierarchy", "max_words": 0}'], "max_words"),
            (["--strategy", "hierarhy"], "did you mean 'hierarchy'?"),
            (["--strategy", "[]"], "A strategy is a mapping"),
            (["--strategy", INLINE, "--corpus", "Guides"], "--corpus: 'Guides' is not in "),
            (["--strategy", INLINE, "--format", "markdwn"], "did you mean 'markdown'?"),
            (
                ["--strategy", '{"chunker": "hierarchy", "max_tokens": 9, "tokenizer": "nope"}'],
                "tokenizer 'nope' is no embedder",
            ),
        ],
    )
    def test_a_wrong_argument_is_told(
        self, run: Run, file: Path, alone: SmallPlatform, arguments: list[str], said: str
    ) -> None:
        outcome = run("chunk", file, "-c", alone.config_file, "--json", *arguments)
        assert (outcome.code, outcome.out) == (1, "")
        assert said in outcome.err

    def test_a_file_that_is_not_there_is_told(self, run: Run, tmp_path: Path) -> None:
        outcome = run("chunk", tmp_path / "none.md", "--strategy", INLINE)
        assert outcome.code == 1
        assert "none.md cannot be read: No such file" in outcome.err

    def test_a_folder_is_told(self, run: Run, tmp_path: Path) -> None:
        assert "Is a directory" in run("chunk", tmp_path, "--strategy", INLINE).err

    def test_a_file_that_is_no_text_is_told(self, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "a.md"
        path.write_bytes(bytes(range(1, 32)) * 20)
        outcome = run("chunk", path, "--strategy", INLINE)
        assert outcome.code == 1
        assert "binary data, not text" in outcome.err
