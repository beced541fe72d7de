"""Delta Lake tables under `storage:`; a materialization replaces its partition in one commit."""

import atexit
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.fs as fs
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError
from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from chunk_assets.errors import ChunkAssetsError, TableDamagedError
from resources.room import MIB, require_room
from resources.schemas import CORPUS_TABLES, PARTITIONED_BY, SHARED_TABLES

_ROOM_BYTES = 8 * MIB
_ANSI = re.compile(r"\x1b\[[0-9;]*m")

_retry_on_conflict = retry(
    retry=retry_if_exception_type(CommitFailedError),
    stop=stop_after_attempt(10),
    wait=wait_random_exponential(multiplier=0.05, max=2.0),
    reraise=True,
)


class Tables:
    """Named tables of one storage place (a folder, or any URI that Delta Lake can write).

    `corpus/stage` names a corpus's table (`handbook/chunks`), a bare name a shared one (`vectors`).
    """

    def __init__(
        self, storage: str | Path, storage_options: Mapping[str, str] | None = None
    ) -> None:
        self._root = f"{str(storage).rstrip('/')}/tables"
        self._options = dict(storage_options or {}) or None

    def uri(self, table: str) -> str:
        """Where a table lies."""
        return f"{self._root}/{table}"

    def schema(self, table: str) -> pa.Schema | None:
        """The declared columns of a table; None for tables of SQL models, which bring their own."""
        corpus, _, stage = table.rpartition("/")
        return (CORPUS_TABLES if corpus else SHARED_TABLES).get(stage)

    def exists(self, table: str) -> bool:
        """Whether anything was ever written to it."""
        return DeltaTable.is_deltatable(self.uri(table), storage_options=self._options)

    def is_whole(self, table: str) -> bool:
        """Whether its log can be read and, in a folder, every file that it names is there."""
        try:
            opened = self._open(table)
        except TableDamagedError:
            return False
        if self._is_remote:
            return True
        # Not `file_uris()`: in those the folder is percent-encoded, and the names below it are not.
        files = opened.to_pyarrow_dataset(filesystem=self._file_system(table)).files
        return all((Path(self.uri(table)) / file).is_file() for file in files)

    def version(self, table: str) -> int | None:
        """The number of its latest commit; None while it does not exist."""
        return self._open(table).version() if self.exists(table) else None

    def read(
        self,
        table: str,
        columns: list[str] | None = None,
        where: Mapping[str, str] | None = None,
        filter: ds.Expression | None = None,  # noqa: A002 - Arrow's own name for it
    ) -> pa.Table:
        """Rows whose columns equal `where`; the empty table while nothing was written."""
        expression = filter
        for column, value in (where or {}).items():
            equal = pc.field(column) == value
            expression = equal if expression is None else expression & equal
        with self._reported(table):
            return self.dataset(table).to_table(columns=columns, filter=expression)

    def dataset(self, table: str) -> ds.Dataset:
        """A lazily read view of the latest commit.

        Raises:
            ChunkAssetsError: if the table does not exist and has no declared columns.
        """
        if self.exists(table):
            with self._reported(table):
                return self._open(table).to_pyarrow_dataset(filesystem=self._file_system(table))
        schema = self.schema(table)
        if schema is None:
            raise ChunkAssetsError(
                f"Table {table!r} does not exist in {self._root}; materialize its asset first."
            )
        return ds.dataset(schema.empty_table())

    @_retry_on_conflict
    def replace(self, table: str, rows: pa.Table, partition: Mapping[str, str]) -> None:
        """Replace one partition (which may become empty) in one commit."""
        partitioned_by = PARTITIONED_BY[table.rpartition("/")[2]]
        predicate = " and ".join(_equals(name, partition[name]) for name in partitioned_by)
        with self._written(table, rows):
            write_deltalake(
                self.uri(table),
                self._declared(table, rows),
                mode="overwrite",
                partition_by=list(partitioned_by),
                predicate=predicate,
                storage_options=self._options,
            )

    @_retry_on_conflict
    def overwrite(self, table: str, rows: pa.Table) -> None:
        """Replace a whole unpartitioned table, columns included."""
        with self._written(table, rows):
            write_deltalake(
                self.uri(table),
                rows,
                mode="overwrite",
                schema_mode="overwrite",
                storage_options=self._options,
            )

    @_retry_on_conflict
    def append(self, table: str, rows: pa.Table) -> None:
        """Add rows in one commit."""
        with self._written(table, rows):
            write_deltalake(
                self.uri(table),
                self._declared(table, rows),
                mode="append",
                partition_by=list(PARTITIONED_BY[table.rpartition("/")[2]]),
                storage_options=self._options,
            )

    @_retry_on_conflict
    def compact(self, table: str, more_files_than: int = 50) -> None:
        """Merge the small files that appends leave, once there are many; loses no history."""
        if self.exists(table) and len(self._open(table).file_uris()) > more_files_than:
            with self._written(table):
                self._open(table).optimize.compact()

    @property
    def _is_remote(self) -> bool:
        return "://" in self._root

    def _file_system(self, table: str) -> fs.FileSystem | None:
        """What Arrow reads a table's files with; None for deltalake's own, which is Python code.

        Arrow's threads drop a file a moment after it was read. If it is a Python object and the
        interpreter ends at that moment, they end the process with `terminate called without an
        active exception` (delta-io/delta-rs#2184, apache/arrow#34314): 18 of 200 times, when a
        read was the last thing a process did.
        """
        if self._is_remote:
            _let_arrow_finish_at_exit()
            return None
        return fs.SubTreeFileSystem(self.uri(table), fs.LocalFileSystem())

    def _open(self, table: str) -> DeltaTable:
        with self._reported(table):
            return DeltaTable(self.uri(table), storage_options=self._options)

    @contextmanager
    def _reported(self, table: str) -> Iterator[None]:
        try:
            yield
        except (DeltaError, OSError, pa.ArrowInvalid) as error:
            raise TableDamagedError(
                f"Table {table!r} at {self.uri(table)} cannot be read: {_first_line(error)}. If it "
                "is damaged, delete that folder and run `chunk-assets apply`, which makes it again."
            ) from error

    @contextmanager
    def _written(self, table: str, rows: pa.Table | None = None) -> Iterator[None]:
        if not self._is_remote:
            # On a full disk the engine fails as well, but panics while it does.
            needed_bytes = _ROOM_BYTES + (0 if rows is None else rows.nbytes)
            require_room(Path(self.uri(table)), needed_bytes, f"write table {table!r}")
        try:
            yield
        except CommitFailedError:
            raise  # another writer was first: tried again
        except (DeltaError, OSError) as error:
            raise ChunkAssetsError(
                f"Table {table!r} at {self.uri(table)} cannot be written: {_first_line(error)}. "
                "What it held is kept. Check that there is room and that the folder is writable."
            ) from error

    def _declared(self, table: str, rows: pa.Table) -> pa.Table:
        schema = self.schema(table)
        return rows if schema is None else rows.select(schema.names).cast(schema)


@cache
def _let_arrow_finish_at_exit() -> None:
    """Give Arrow's threads the moment that they need to drop what they have read, once."""
    atexit.register(time.sleep, 0.1)


def _equals(column: str, value: str) -> str:
    if not value:
        raise ValueError(f"{column} is empty: Delta Lake would store null, which equals nothing")
    quoted = value.replace("'", "''")
    return f"{column} = '{quoted}'"


def _first_line(error: Exception) -> str:
    """What went wrong; the engine's messages go on with a backtrace of its own."""
    return _ANSI.sub("", str(error)).strip().partition("\n")[0]
