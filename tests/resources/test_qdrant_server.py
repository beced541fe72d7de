"""Requests to a server that fails, answers late or answers no: a real HTTP server, scripted."""

import json
import threading
import uuid
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from qdrant_client import QdrantClient, models

from chunk_assets.errors import VectorStoreError
from chunk_assets.lineage.identity import ChunkId
from chunk_assets.retrieval.vector_store import Point, SparseVector
from resources.qdrant_server import QdrantServerStore, connect

DROP = 0  # a status: close the connection without an answer
KEY = "very-secret-key"
HNSW = {"m": 16, "ef_construct": 100, "full_scan_threshold": 1000}
OPTIMIZERS = {
    "deleted_threshold": 0.2,
    "vacuum_min_vector_number": 1000,
    "default_segment_number": 0,
    "flush_interval_sec": 5,
}


def described(status: str = "green", indexed: tuple[str, ...] = ()) -> dict[str, Any]:
    """What a server says about a collection of 3 dimensions."""
    return {
        "status": status,
        "optimizer_status": "ok",
        "segments_count": 1,
        "config": {
            "params": {
                "vectors": {"dense": {"size": 3, "distance": "Cosine"}},
                "sparse_vectors": {"bm25": {"modifier": "idf"}},
            },
            "hnsw_config": HNSW,
            "optimizer_config": OPTIMIZERS,
        },
        "payload_schema": {name: {"data_type": "keyword", "points": 0} for name in indexed},
    }


@dataclass
class Script:
    """Answers by method and path, in order; the last one is given again and again."""

    answers: dict[str, list[tuple[int, Any]]] = field(default_factory=lambda: defaultdict(list))
    requests: list[tuple[str, Any]] = field(default_factory=list)
    url: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, request: str, *results: Any) -> None:  # noqa: ANN401 - any JSON
        self.answers[request] += [(200, {"result": result, "status": "ok"}) for result in results]

    def fail(self, request: str, *statuses: int, error: str = "no", times: int = 1) -> None:
        self.answers[request] += [(s, {"status": {"error": error}}) for s in statuses] * times

    def sent(self, request: str) -> list[Any]:
        return [body for name, body in self.requests if name == request]


@pytest.fixture
def script() -> Iterator[Script]:
    script = Script()

    class Handler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            request = f"{self.command} {urlsplit(self.path).path}"
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            with script.lock:
                script.requests.append((request, body))
                queue = script.answers[request]
                status, answer = queue.pop(0) if len(queue) > 1 else queue[0]
            if status == DROP:
                self.close_connection = True
                return
            self.send_response(status)
            if status == 429:
                self.send_header("Retry-After", "0")
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        do_GET = do_PUT = do_POST = do_DELETE = handle_any  # noqa: N815 - names of http.server

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - name of http.server
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    script.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    script.answer("GET /collections", {"collections": [{"name": "a"}]})
    script.answer("GET /aliases", {"aliases": []})
    script.answer("GET /collections/a", described())
    yield script
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def store(script: Script) -> Iterator[QdrantServerStore]:
    client = connect(script.url, api_key=KEY, timeout_s=5)
    yield QdrantServerStore(client, retries=2)
    client.close()


def point(number: int, text: str = "") -> Point:
    return Point(
        ChunkId(str(uuid.UUID(int=number))),
        np.asarray([1, 0, 0], np.float32),
        SparseVector((), ()),
        {"text": text},
    )


COMPLETED = {"operation_id": 1, "status": "completed"}


class TestRetries:
    @pytest.mark.parametrize("failure", [429, 503, DROP])
    def test_a_request_that_fails_twice_and_then_succeeds_is_answered(
        self, store: QdrantServerStore, script: Script, failure: int
    ) -> None:
        script.fail("POST /collections/a/points/count", failure, times=2)
        script.answer("POST /collections/a/points/count", {"count": 7})
        with store.open("a") as collection:
            assert collection.count() == 7
        assert len(script.sent("POST /collections/a/points/count")) == 3

    def test_a_request_that_keeps_failing_is_given_up_after_the_retries(
        self, store: QdrantServerStore, script: Script
    ) -> None:
        script.fail("POST /collections/a/points/count", 503, error="overloaded")
        with store.open("a") as collection, pytest.raises(VectorStoreError, match="overloaded"):
            collection.count()
        assert len(script.sent("POST /collections/a/points/count")) == 3

    def test_a_request_that_the_server_refuses_is_not_repeated(
        self, store: QdrantServerStore, script: Script
    ) -> None:
        script.fail("POST /collections/a/points/count", 400, error="bad filter")
        with store.open("a") as collection, pytest.raises(VectorStoreError, match="bad filter"):
            collection.count()
        assert len(script.sent("POST /collections/a/points/count")) == 1


class TestMessages:
    def test_an_error_names_server_collection_request_and_status(
        self, store: QdrantServerStore, script: Script
    ) -> None:
        script.fail("POST /collections/a/points/count", 400, error="bad filter")
        with (
            store.open("a") as collection,
            pytest.raises(
                VectorStoreError,
                match=rf"{script.url}: cannot count points in collection 'a': bad filter.*400",
            ),
        ):
            collection.count()

    def test_a_refused_key_is_named_as_the_cause_and_never_shown(
        self, store: QdrantServerStore, script: Script
    ) -> None:
        script.answers["GET /collections"].clear()
        script.fail("GET /collections", 401, error=f"Invalid key {KEY}")
        with pytest.raises(VectorStoreError, match="check api_key") as caught:
            store.names()
        assert KEY not in str(caught.value)

    @pytest.mark.parametrize("prefer_grpc", [False, True])
    def test_a_server_that_does_not_answer_is_named_with_what_to_check(
        self, prefer_grpc: bool
    ) -> None:
        client = connect("http://127.0.0.1:9", prefer_grpc=prefer_grpc, grpc_port=9, timeout_s=2)
        with pytest.raises(
            VectorStoreError, match=r"http://127\.0\.0\.1:9: .*check that the server runs"
        ):
            QdrantServerStore(client, retries=0).names()
        client.close()

    def test_a_missing_file_of_certificates_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(VectorStoreError, match=r"vector_store\.verify: .*missing\.pem"):
            connect("https://127.0.0.1:9", verify=tmp_path / "missing.pem")


class TestRequests:
    def test_points_travel_in_batches_of_at_most_256(
        self, store: QdrantServerStore, script: Script
    ) -> None:
        script.answer("PUT /collections/a/points", COMPLETED)
        with store.open("a") as collection:
            collection.upsert([point(number) for number in range(600)])
        bodies = script.sent("PUT /collections/a/points")
        assert [len(body["points"]) for body in bodies] == [256, 256, 88]

    def test_long_points_travel_in_smaller_batches(
        self, store: QdrantServerStore, script: Script
    ) -> None:
        script.answer("PUT /collections/a/points", COMPLETED)
        with store.open("a") as collection:
            collection.upsert([point(number, "x" * 1_500_000) for number in range(5)])
        bodies = script.sent("PUT /collections/a/points")
        assert [len(body["points"]) for body in bodies] == [2, 2, 1]

    def test_a_moving_alias_is_deleted_and_created_in_one_request(
        self, store: QdrantServerStore, script: Script
    ) -> None:
        script.answers["GET /aliases"].clear()
        script.answer("GET /aliases", {"aliases": [{"alias_name": "x", "collection_name": "old"}]})
        script.answer("GET /aliases", {"aliases": [{"alias_name": "x", "collection_name": "a"}]})
        script.answer("POST /collections/aliases", True)
        store.set_alias("x", "a")
        assert script.sent("POST /collections/aliases") == [
            {
                "actions": [
                    {"delete_alias": {"alias_name": "x"}},
                    {"create_alias": {"collection_name": "a", "alias_name": "x"}},
                ]
            }
        ]

    def test_an_alias_that_did_not_move_is_an_error(
        self, store: QdrantServerStore, script: Script
    ) -> None:
        script.answers["GET /aliases"].clear()
        script.answer("GET /aliases", {"aliases": [{"alias_name": "x", "collection_name": "old"}]})
        script.answer("POST /collections/aliases", True)
        with pytest.raises(VectorStoreError, match="points to 'old' after it was set to 'a'"):
            store.set_alias("x", "a")

    def test_creating_a_collection_again_adds_the_payload_indexes_it_lacks(
        self, store: QdrantServerStore, script: Script
    ) -> None:
        script.answers["GET /collections/a"].clear()
        script.answer("GET /collections/a", described(indexed=("document_id",)))
        script.answer("PUT /collections/a/index", COMPLETED)
        store.create("a", 3)
        fields = [body["field_name"] for body in script.sent("PUT /collections/a/index")]
        assert fields == ["uri", "heading_path"]

    def test_a_collection_that_another_writer_created_meanwhile_is_taken(
        self, store: QdrantServerStore, script: Script
    ) -> None:
        script.answer("GET /collections", {"collections": [{"name": "a"}, {"name": "b"}]})
        script.fail("PUT /collections/b", 409, error="exists")
        script.answer("GET /collections/b", described())
        script.answer("PUT /collections/b/index", COMPLETED)
        store.create("b", 3)
        assert len(script.sent("PUT /collections/b")) == 1

    def test_finishing_waits_until_the_server_has_built_its_index(
        self, store: QdrantServerStore, script: Script
    ) -> None:
        script.answer("GET /collections/a", described("yellow"), described("green"))
        with store.open("a") as collection:
            collection.finish()
        assert len(script.sent("GET /collections/a")) == 3


def test_a_collection_that_was_made_for_something_else_is_refused() -> None:
    client = QdrantClient(":memory:")
    client.create_collection("other", models.VectorParams(size=3, distance=models.Distance.COSINE))
    store = QdrantServerStore(client)
    with pytest.raises(VectorStoreError, match="not made by chunk-assets"):
        store.create("other", 3)
    with pytest.raises(VectorStoreError, match="not made by chunk-assets"), store.open("other"):
        pass
