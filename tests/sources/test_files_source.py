"""Files below a folder."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from chunk_assets.errors import SourceError
from chunk_assets.sources.config import FilesConfig, build_source
from chunk_assets.sources.files import FilesSource
from chunk_assets.sources.source import SourceItem


def source(root: Path, **options: object) -> FilesSource:
    config = FilesConfig.model_validate({"kind": "files", "root": str(root), **options})
    built = build_source(config, root)
    assert isinstance(built, FilesSource)
    return built


def uris(root: Path, **options: object) -> list[str]:
    return [item.uri for item in source(root, **options).list_items()]


def only(root: Path, **options: object) -> SourceItem:
    (item,) = source(root, **options).list_items()
    return item


def write(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"text of {name}")


def test_files_are_listed_in_order_by_their_path_below_the_root(tmp_path: Path) -> None:
    write(tmp_path, "b.md", "a/z.md", "a-b.md", "a/b/c.md")
    assert uris(tmp_path) == ["a-b.md", "a/b/c.md", "a/z.md", "b.md"]


def test_reading_gives_the_bytes_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.md").write_bytes(b"\xef\xbb\xbfa\r\n\x00\xff")
    assert source(tmp_path).read("a/b.md") == b"\xef\xbb\xbfa\r\n\x00\xff"


def test_a_relative_root_is_taken_from_the_given_folder(tmp_path: Path) -> None:
    write(tmp_path, "docs/a.md")
    config = FilesConfig(kind="files", root="docs")
    assert [item.uri for item in build_source(config, tmp_path).list_items()] == ["a.md"]


def test_a_root_may_name_an_environment_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "docs/a.md")
    monkeypatch.setenv("DOCS_FOLDER", str(tmp_path / "docs"))
    config = FilesConfig(kind="files", root="${DOCS_FOLDER}")
    assert [item.uri for item in build_source(config, Path("/")).list_items()] == ["a.md"]


@pytest.mark.parametrize(
    ("include", "exclude", "listed"),
    [
        (["*.md"], [], ["a.md", "drafts/c.md"]),
        (["/*.md"], [], ["a.md"]),
        (["**/*.md", "**/*.txt"], ["drafts/"], ["a.md", "b.txt"]),
        (["**"], ["*.txt"], ["a.md", "drafts/c.md"]),
        (["**"], ["*", "!a.md"], ["a.md"]),
    ],
)
def test_globs_mean_what_they_mean_in_a_gitignore(
    include: list[str], exclude: list[str], listed: list[str], tmp_path: Path
) -> None:
    write(tmp_path, "a.md", "b.txt", "drafts/c.md")
    assert uris(tmp_path, include=include, exclude=exclude) == listed


def test_hidden_files_and_tool_folders_are_left_out_unless_that_is_switched_off(
    tmp_path: Path,
) -> None:
    hidden = [".env", ".git/config", "a/.venv/b.md", "a/__pycache__/c.md", "node_modules/d.md"]
    write(tmp_path, "a/e.md", "chunk_assets.yaml", "a/chunk_assets.yaml", *hidden)
    assert uris(tmp_path) == ["a/chunk_assets.yaml", "a/e.md"]
    assert len(uris(tmp_path, exclude_always=[])) == 8


def test_excluding_more_keeps_what_is_always_left_out(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "b.md", ".env")
    assert uris(tmp_path, exclude=["b.md"]) == ["a.md"]


@pytest.mark.parametrize(
    "change",
    [
        lambda path: path.write_text("other text, longer"),
        lambda path: path.write_text(path.read_text().swapcase()),
        lambda path: os.utime(path, (1, 1)),
        lambda path: path.chmod(0o600),
    ],
    ids=["size", "content", "time", "status"],
)
def test_the_signature_changes_whenever_the_content_may_have_changed(
    change: Callable[[Path], object], tmp_path: Path
) -> None:
    write(tmp_path, "a.md")
    before = only(tmp_path).signature
    change(tmp_path / "a.md")
    assert only(tmp_path).signature != before


def test_listing_twice_gives_the_same(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "b/c.md")
    assert source(tmp_path).list_items() == source(tmp_path).list_items()


def test_a_changed_time_alone_leaves_the_bytes_readable(tmp_path: Path) -> None:
    write(tmp_path, "a.md")
    os.utime(tmp_path / "a.md", (1, 1))
    fresh = source(tmp_path)
    fresh.list_items()
    assert fresh.read("a.md") == b"text of a.md"


def test_a_link_that_is_not_followed_is_no_document(tmp_path: Path) -> None:
    write(tmp_path, "a/b.md")
    (tmp_path / "link.md").symlink_to("a/b.md")
    (tmp_path / "folder").symlink_to("a")
    (tmp_path / "dangling.md").symlink_to("nowhere")
    assert uris(tmp_path) == ["a/b.md"]


def test_a_link_out_of_the_root_that_is_not_followed_is_a_remark(tmp_path: Path) -> None:
    write(tmp_path, "outside/a.md", "root/b.md", "root/c/d.md")
    root = tmp_path / "root"
    (root / "c" / "file.md").symlink_to(tmp_path / "outside" / "a.md")
    (root / "folder").symlink_to(tmp_path / "outside")
    # What these lead to is listed anyway, or is not wanted.
    (root / "inside.md").symlink_to("b.md")
    (root / "inside").symlink_to("c")
    (root / "nowhere.md").symlink_to("nothing")
    (root / "script.py").symlink_to(tmp_path / "outside" / "a.md")
    (root / ".hidden.md").symlink_to(tmp_path / "outside" / "a.md")
    (root / "drafts").symlink_to(tmp_path / "outside")
    files = source(root, include=["*.md"], exclude=[".*", "drafts/"])
    assert [item.uri for item in files.list_items()] == ["b.md", "c/d.md"]
    (remark,) = files.remarks()
    assert "2 symbolic links lead out of the source's folder and are not followed: " in remark
    assert "followed: c/file.md, folder. Set source.follow_links: true" in remark
    followed = source(root, include=["*.md"], exclude=[".*", "drafts/"], follow_links=True)
    assert "folder/a.md" in [item.uri for item in followed.list_items()]
    assert followed.remarks() == []


def test_of_many_links_some_are_named(tmp_path: Path) -> None:
    write(tmp_path, "outside/a.md", "root/b.md")
    for number in range(7):
        (tmp_path / "root" / f"{number}.md").symlink_to(tmp_path / "outside" / "a.md")
    files = source(tmp_path / "root")
    for _ in range(2):
        files.list_items()
        assert "7 symbolic links lead" in files.remarks()[0]
        assert "followed: 0.md, 1.md, 2.md, 3.md, 4.md and 2 more. Set" in files.remarks()[0]


def test_a_file_reached_by_followed_links_is_listed_under_each_path(tmp_path: Path) -> None:
    write(tmp_path, "a/b.md")
    (tmp_path / "link.md").symlink_to("a/b.md")
    (tmp_path / "folder").symlink_to("a")
    assert uris(tmp_path, follow_links=True) == ["a/b.md", "folder/b.md", "link.md"]
    assert source(tmp_path, follow_links=True).read("folder/b.md") == b"text of a/b.md"


def test_followed_links_may_lead_out_of_the_root(tmp_path: Path) -> None:
    write(tmp_path, "outside/a.md", "root/b.md")
    (tmp_path / "root" / "out").symlink_to(tmp_path / "outside")
    assert uris(tmp_path / "root", follow_links=True) == ["b.md", "out/a.md"]
    assert uris(tmp_path / "root") == ["b.md"]


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    write(tmp_path, "a/b.md")
    (tmp_path / "a" / "up").symlink_to("..")
    (tmp_path / "a" / "self").symlink_to(".")
    assert uris(tmp_path, follow_links=True) == ["a/b.md"]


def test_a_link_to_itself_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "a.md").symlink_to("a.md")
    assert "leads nowhere" in (only(tmp_path, follow_links=True).problem or "")


def test_a_dangling_link_that_is_followed_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "a.md").symlink_to("nowhere")
    assert "leads nowhere" in (only(tmp_path, follow_links=True).problem or "")


def test_folders_that_all_link_to_each_other_end_in_problems(tmp_path: Path) -> None:
    names = [f"f{number}" for number in range(9)]
    for name in names:
        write(tmp_path, f"{name}/a.md")
        for other in names:
            (tmp_path / name / f"to_{other}").symlink_to(f"../{other}")
    items = source(tmp_path, follow_links=True).list_items()
    assert {item.problem for item in items} == {None, "links lead to this folder by too many paths"}
    assert len(items) < 64 * 9 * 10


@pytest.mark.parametrize("target", [".", "missing", "file"])
def test_a_root_that_is_a_link_is_followed_where_it_leads_to_a_folder(
    target: str, tmp_path: Path
) -> None:
    write(tmp_path, "file")
    (tmp_path / "root").symlink_to(target)
    if target == ".":
        assert uris(tmp_path / "root") == ["file"]
    else:
        with pytest.raises(SourceError, match=r"source\.root"):
            uris(tmp_path / "root")


def test_a_missing_root_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"does not exist\. Create it, mount it, or correct"):
        uris(tmp_path / "missing")


def test_a_file_over_the_limit_is_a_problem_that_names_both_numbers(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"x" * 2_000)
    problem = only(tmp_path, max_bytes=1_000).problem
    assert problem is not None
    assert "2,000 bytes" in problem
    assert "1,000" in problem
    assert only(tmp_path, max_bytes=2_000).problem is None


def test_pipes_and_sockets_are_problems_and_are_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s.md"))
        items = source(tmp_path).list_items()
    assert [(item.uri, item.problem) for item in items] == [
        (name, "is a pipe, socket or device, which is never opened") for name in ("pipe.md", "s.md")
    ]


def test_a_pipe_put_in_place_of_a_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.md")
    with pytest.raises(SourceError, match="no regular file"):
        source(tmp_path).read("a.md")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_a_file_without_permission_is_a_problem(tmp_path: Path) -> None:
    write(tmp_path, "a.md")
    (tmp_path / "a.md").chmod(0)
    assert "permission" in (only(tmp_path).problem or "")


def test_a_folder_that_cannot_be_listed_is_a_problem_and_hides_nothing_else(
    tmp_path: Path,
) -> None:
    write(tmp_path, "a.md")
    # Deeper than the system's limit for a path: even the superuser cannot list the last folder.
    name = "d" * 200
    folder = os.open(tmp_path, os.O_RDONLY)
    for _ in range(25):
        os.mkdir(name, dir_fd=folder)
        below = os.open(name, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
    os.close(folder)
    listed, unlistable = source(tmp_path).list_items()
    assert listed.uri == "a.md"
    assert unlistable.uri.endswith("/")
    assert "cannot be listed" in (unlistable.problem or "")


def test_folders_nested_deeper_than_python_recurses_are_listed(tmp_path: Path) -> None:
    folders = [tmp_path]
    for _ in range(1_100):
        folders.append(folders[-1] / "d")
        folders[-1].mkdir()
    file = folders[-1] / "a.md"
    file.write_text("deep")
    try:
        assert uris(tmp_path) == ["d/" * 1_100 + "a.md"]
    finally:
        # By hand: what clears temporary folders away recurses.
        file.unlink()
        for folder in reversed(folders[1:]):
            folder.rmdir()


@pytest.mark.parametrize(
    "name", [b"caf\xe9 \xff.md", b"a%41.md", b"new\nline.md", "猫 & co?.md".encode(), b"-rf *.md"]
)
def test_a_file_with_an_odd_name_is_listed_stored_and_read(name: bytes, tmp_path: Path) -> None:
    Path(os.fsdecode(os.path.join(os.fsencode(tmp_path), name))).write_bytes(b"x")  # noqa: PTH118
    uri = only(tmp_path).uri
    assert pa.array([uri]).to_pylist() == [uri]
    assert source(tmp_path).read(uri) == b"x"


@pytest.mark.parametrize("uri", ["../secret", "/etc/passwd", "a/../../secret", "", "a//b", "./a"])
def test_nothing_outside_the_root_can_be_read(uri: str, tmp_path: Path) -> None:
    write(tmp_path, "secret", "root/a/b")
    with pytest.raises(SourceError, match="no path below"):
        source(tmp_path / "root").read(uri)


def test_a_link_is_not_read_either_where_links_are_not_followed(tmp_path: Path) -> None:
    write(tmp_path, "secret", "root/a.md")
    (tmp_path / "root" / "link.md").symlink_to(tmp_path / "secret")
    with pytest.raises(SourceError, match=r"link\.md: cannot be read"):
        source(tmp_path / "root").read("link.md")


def test_a_file_that_vanished_since_it_was_listed_is_an_error_that_names_it(
    tmp_path: Path,
) -> None:
    write(tmp_path, "a.md")
    listed = source(tmp_path)
    listed.list_items()
    (tmp_path / "a.md").unlink()
    with pytest.raises(SourceError, match=r"a\.md: cannot be read"):
        listed.read("a.md")


def test_a_file_that_changed_since_it_was_listed_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, "a.md")
    listed = source(tmp_path)
    listed.list_items()
    (tmp_path / "a.md").write_text("other text, and longer")
    with pytest.raises(SourceError, match="changed"):
        listed.read("a.md")
    listed.list_items()
    assert listed.read("a.md") == b"other text, and longer"


def test_a_file_that_grew_over_the_limit_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, "a.md")
    with pytest.raises(SourceError, match="the limit is 5"):
        source(tmp_path, max_bytes=5).read("a.md")
