"""`.parquet` files: the columns that are wanted, unpacked some rows at a time."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from partita.data._csv_table import check_distinct
from partita.data._memory import AS_A_FILE_TO_STREAM, check_fits
from partita.data._reading import existing_file, reading

ROWS_AT_ONCE = 1 << 16
BYTES_A_CELL = 8 + 4  # float64, then float32; or a reference to a text and its number


class ParquetTable:
    """What a file says of itself: the names of its columns, and which hold text."""

    def __init__(self, path: Path):
        try:
            import pyarrow.parquet as parquet
        except ImportError:
            raise ValueError(f"{path}: reading parquet needs pyarrow; install partita[arrow]") from None
        self.path = existing_file(path)
        with reading(self.path), parquet.ParquetFile(self.path) as file:
            schema = file.schema_arrow
            self.names, self.rows = list(schema.names), file.metadata.num_rows
            self.kinds = dict(zip(self.names, map(_kind, schema.types)))
            self.text = {name for name, kind in self.kinds.items() if kind == "text"}
            if self.rows == 0:
                raise ValueError("the table has no rows")
            check_distinct(self.names)

    def columns(self, wanted: Collection[str]) -> dict[str, np.ndarray]:
        """Columns by name: numbers (float64, missing ones NaN), or text, of which each distinct one is kept once."""
        import pyarrow.parquet as parquet

        text = sorted(self.text & set(wanted))
        with reading(self.path), parquet.ParquetFile(self.path, read_dictionary=text) as file:
            for name in wanted:
                if self.kinds[name] not in ("text", "numbers"):
                    raise ValueError(f"column {name!r} holds {self.kinds[name]}, neither numbers nor text")
            needed = BYTES_A_CELL * self.rows * len(wanted) + 2 * _largest_pieces(file.metadata, set(text))
            check_fits(needed, f"the table, {self.rows:,} rows of {len(wanted):,} columns,", AS_A_FILE_TO_STREAM)
            columns = {name: np.empty(self.rows, object if name in text else np.float64) for name in wanted}
            known: dict[str, str] = {}
            at = 0
            for batch in file.iter_batches(ROWS_AT_ONCE, columns=list(wanted)):
                for name, column in columns.items():
                    convert = _texts if name in text else _numbers
                    column[at : at + len(batch)] = convert(batch.column(name), known)
                at += len(batch)
            if at != self.rows:
                raise ValueError(f"holds {at:,} rows and claims {self.rows:,}")
            return columns


def _kind(of: Any) -> str:
    import pyarrow.types as types

    if types.is_integer(of) or types.is_floating(of) or types.is_boolean(of) or types.is_decimal(of):
        return "numbers"
    return "text" if types.is_string(of) or types.is_large_string(of) or types.is_dictionary(of) else str(of)


def _numbers(column: Any, known: dict[str, str]) -> np.ndarray:
    return column.cast("float64").to_numpy(zero_copy_only=False)


def _texts(column: Any, known: dict[str, str]) -> np.ndarray:
    import pyarrow.types as types

    coded = column if types.is_dictionary(column.type) else column.dictionary_encode()
    distinct = np.array([*(str(value) for value in coded.dictionary.to_pylist()), "None"], dtype=object)
    distinct[:] = [known.setdefault(value, value) for value in distinct]
    return distinct[coded.indices.fill_null(len(distinct) - 1).to_numpy(zero_copy_only=False)]


def _largest_pieces(metadata: Any, names: set[str]) -> int:
    """Bytes of the largest piece of each of these columns, unpacked: what one of them takes while it is read."""
    largest: dict[str, int] = {}
    for group in range(metadata.num_row_groups if names else 0):
        for k in range(metadata.num_columns):
            piece = metadata.row_group(group).column(k)
            if piece.path_in_schema in names:
                largest[piece.path_in_schema] = max(largest.get(piece.path_in_schema, 0), piece.total_uncompressed_size)
    return sum(largest.values())
