"""`.csv` files: read in blocks, so that the text of the cells never stands beside all their numbers."""

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from partita.data._memory import AS_A_FILE_TO_STREAM, check_fits
from partita.data._nearest import listed
from partita.data._reading import existing_file, reading

CELLS_A_BLOCK = 1 << 16
BYTES_A_CELL = 16  # float64, in blocks and then in one piece


class CsvTable:
    """The columns of a `.csv` file by name, in order; without a header line they are called 0, 1, 2, ..."""

    def __init__(self, path: Path):
        self.path = existing_file(path)
        with reading(self.path), self._opened() as stream:
            first = stream.readline()
            if not first.strip():
                raise ValueError("the first line is empty")
            self.delimiter = max(",;\t", key=first.count)
            head = next(csv.reader([first], delimiter=self.delimiter))
            self.header = not all(map(_is_number, head))
            self.names = [cell.strip() for cell in head] if self.header else [str(k) for k in range(len(head))]
            check_distinct(self.names)

    def columns(self) -> dict[str, np.ndarray]:
        """Numbers (float64) where every cell of a column is one, an empty cell being a missing number; else text."""
        with reading(self.path):
            text = _text_columns(next(self._blocks()))
            parts = self._parsed(text)
            if parts is None:  # text further down, in a column that began with numbers
                text = set().union(*map(_text_columns, self._blocks()))
                parts = self._parsed(text)
            assert parts is not None
            return parts

    def first_text(self, name: str) -> tuple[int, str] | None:
        """Row, counted from 1 below the header line, and content of the first cell that is neither number nor empty."""
        return self._first(name, lambda cell: not _is_number(cell))

    def first_missing(self, name: str) -> tuple[int, str] | None:
        """Row and content of the first cell that is empty or says NaN."""
        return self._first(name, lambda cell: _is_number(cell) and np.isnan(_number(cell)))

    def _first(self, name: str, odd: Any) -> tuple[int, str] | None:
        k = self.names.index(name)
        with reading(self.path):
            cells = (row[k].strip() for block in self._blocks() for row in block)
            return next(((number, cell) for number, cell in enumerate(cells, 1) if odd(cell)), None)

    def _parsed(self, text: set[int]) -> dict[str, np.ndarray] | None:
        """Every column, those of `text` as text; None where another one turns out to hold text."""
        numeric = [k for k in range(len(self.names)) if k not in text]
        numbers: list[np.ndarray] = []
        words: dict[int, list[str]] = {k: [] for k in text}
        known: dict[str, str] = {}  # each distinct text is kept once
        for block in self._blocks():
            try:
                numbers.append(np.array([[row[k].strip() or "nan" for k in numeric] for row in block], np.float64))
            except ValueError:
                return None
            for k, column in words.items():
                column.extend(known.setdefault(cell, cell) for cell in (row[k].strip() for row in block))
        table = np.concatenate(numbers)
        numbers.clear()
        place = {k: j for j, k in enumerate(numeric)}
        return {
            name: table[:, place[k]] if k in place else np.array(words[k], dtype=object)
            for k, name in enumerate(self.names)
        }

    def _blocks(self) -> Iterator[list[list[str]]]:
        """Rows of cells, some at a time; the first ones tell how many there are, and whether they fit into memory."""
        width, number, block = len(self.names), 0, []
        rows = max(1, CELLS_A_BLOCK // width)
        with self._opened() as stream:
            if self.header:
                stream.readline()
            for row in csv.reader(stream, delimiter=self.delimiter, strict=True):
                if not row:
                    continue
                number += 1
                if len(row) != width:
                    raise ValueError(f"row {number} has {len(row)} cells, the first line has {width}")
                block.append(row)
                if len(block) == rows:
                    if number == rows:
                        total = rows * self.path.stat().st_size / stream.buffer.tell()
                        check_fits(BYTES_A_CELL * width * total, f"the table, {total:,.0f} rows,", AS_A_FILE_TO_STREAM)
                    yield block
                    block = []
            if block:
                yield block
            if not number:
                raise ValueError("has a header line but no rows")

    def _opened(self) -> Any:
        return self.path.open(newline="", encoding="utf-8-sig")


def check_distinct(names: Sequence[str]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"two columns have the same name: {listed(twice)}")


def _text_columns(block: Sequence[Sequence[str]]) -> set[int]:
    """Which columns hold a cell that is neither number nor empty."""
    return {k for k, cells in enumerate(zip(*block)) if not all(map(_is_number, cells))}


def _number(cell: str) -> float:
    return float(cell.strip() or "nan")


def _is_number(cell: str) -> bool:
    try:
        _number(cell)
    except ValueError:
        return False
    return True
