"""The Dagster UI, as a person sees it: the graph, a partitioned asset, the leaderboard."""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from browser import chromium
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait
from small_platform import SmallPlatform, guide

from chunk_assets.instance import SETTINGS

pytestmark = [pytest.mark.slow, pytest.mark.browser]

PATIENCE_S = 60
GOLD = """\
{"query_id": "q1", "query": "When is the pump ready?", "quotes": [{"doc_id": "pump.md", "quote": "After 2 minutes the pump is ready"}]}
{"query_id": "q2", "query": "What does the boiler need in step 1?", "quotes": [{"doc_id": "boiler.md", "quote": "The boiler needs care in step 1"}]}
"""  # noqa: E501 - one JSON object a line


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a web server on a small corpus that was built by real runs."""
    folder = tmp_path_factory.mktemp("ui")
    home = folder / "dagster"
    home.mkdir()
    (home / "dagster.yaml").write_text(SETTINGS)
    with dg.DagsterInstance.from_config(str(home)) as instance:
        small = SmallPlatform(folder, instance, strategies={"hierarchy": {"chunker": "hierarchy"}})
        small.corpus = {"buckets": 2, "gold": {"questions": {"path": "gold.jsonl"}}}
        small.strategies["hierarchy"]["max_words"] = 60
        small.write({f"{name}.md": guide(name) for name in ("pump", "boiler", "crane")})
        (folder / "gold.jsonl").write_text(GOLD)
        report = small.apply()
        assert not report.failed, [result.message for result in report.failed]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = os.environ | {
        "DAGSTER_HOME": str(home),
        "CHUNK_ASSETS_CONFIG": str(small.config_file),
        "PYTHONPATH": str(Path(__file__).parent.parent / "support"),
    }
    log = (folder / "webserver.log").open("wb")
    server = subprocess.Popen(
        [
            *(sys.executable, "-m", "dagster_webserver", "-h", "127.0.0.1", "-p", str(port)),
            *("-m", "chunk_assets.definitions"),
        ],
        env=environment,
        stdout=log,
        stderr=log,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        wait_until_it_answers(address, server, folder / "webserver.log")
        yield address
    finally:
        server.terminate()
        server.wait(timeout=30)
        log.close()


def wait_until_it_answers(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        assert server.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(f"{address}/server_info", timeout=5):  # noqa: S310 - own
                return
        except (urllib.error.URLError, TimeoutError):
            time.sleep(0.5)
    pytest.fail(f"the web server did not answer: {log.read_text()}")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    with chromium(tmp_path_factory.mktemp("profile"), height=1600) as browser:
        yield browser


def visit(page: Chrome, url: str, *expected: str, name: str) -> str:
    """Open a page, wait until all expected texts are there, keep a picture if asked to."""
    page.get(url)

    def text() -> str:
        return page.find_element(By.TAG_NAME, "body").text

    try:
        WebDriverWait(page, PATIENCE_S).until(lambda _: all(item in text() for item in expected))
    finally:
        save(page, name)
    return text()


def plot_of(page: Chrome, metadata: str) -> bool:
    """Whether a metadata entry shows a plot; the UI hides long Markdown behind a link."""
    row = page.find_element(By.XPATH, f"//td[normalize-space()='{metadata}']/..")
    links = row.find_elements(By.XPATH, ".//*[contains(text(), 'Show Markdown')]")
    if links:
        page.execute_script("arguments[0].click()", links[0])
    images = WebDriverWait(page, PATIENCE_S).until(
        lambda _: page.find_elements(By.CSS_SELECTOR, "img[src^='data:image/png']")
    )
    save(page, f"plot_{metadata}")
    # A picture that the page's policy blocks is there, but has no size.
    return bool(page.execute_script("return arguments[0].naturalWidth > 0", images[0]))


def save(page: Chrome, name: str) -> None:
    """Keep a picture where CHUNK_ASSETS_SCREENSHOTS names a folder."""
    folder = os.environ.get("CHUNK_ASSETS_SCREENSHOTS")
    if folder:
        time.sleep(1.5)  # pictures and fonts arrive after the text
        page.save_screenshot(str(Path(folder) / f"{name}.png"))


def test_the_graph_shows_every_stage(served: str, page: Chrome) -> None:
    text = visit(
        page,
        f"{served}/locations/chunk_assets.definitions/asset-groups/guides/lineage",
        "raw_documents",
        "embeddings",
        name="graph",
    )
    for stage in ("documents", "chunks", "collections", "retrieval_runs", "evaluations"):
        assert stage in text


def test_a_partitioned_asset_shows_its_partitions_and_metadata(served: str, page: Chrome) -> None:
    visit(
        page,
        f"{served}/assets/guides/chunks?view=partitions&partition=b00%7Chierarchy",
        "b00",
        "hierarchy",
        "documents_cut",
        "preview",
        name="chunks",
    )
    assert plot_of(page, "sizes")


def test_the_overview_says_what_a_row_is(served: str, page: Chrome) -> None:
    visit(page, f"{served}/assets/guides/chunks", "A row is one chunk", name="chunks_overview")


def test_checks_are_shown_as_passed(served: str, page: Chrome) -> None:
    text = visit(
        page, f"{served}/assets/guides/chunks?view=checks", "spans_exact", name="chunks_checks"
    )
    assert "coverage_complete" in text


def test_the_leaderboard_shows_its_table_and_plot(served: str, page: Chrome) -> None:
    visit(
        page,
        f"{served}/assets/guides/leaderboard?view=events",
        "hierarchy__counting",
        "budget_span_recall_mean",
        name="leaderboard",
    )
    assert plot_of(page, "intervals")


def test_columns_of_a_model_say_where_they_come_from(served: str, page: Chrome) -> None:
    visit(
        page,
        f"{served}/assets/guides/vector_lineage",
        "content_hash",
        "from raw_documents.content_hash",
        name="column_lineage",
    )
