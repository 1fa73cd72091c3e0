"""Reads the rows of a damaged SQLite file page by page; SQLite itself stops at the first missing page.

A store's table is a b-tree of pages; each holds whole rows, or the beginning of a row and a chain of overflow pages.
So the rows of any surviving page can be read, even if its parent pages are lost. Rows may be wrong; the caller
verifies the games by checksum. File format: https://www.sqlite.org/fileformat2.html.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

MAGIC = b"SQLite format 3\0"
_ROW_PAGES = {0x02: 12, 0x0A: 8}  # kind of a page with rows of a table WITHOUT ROWID -> size of its header
_COLUMNS = 5
_SIZES = (0, 1, 2, 3, 4, 6, 8, 8, 0, 0)  # bytes of a value by its serial type
_PAGE_SIZES = [2**power for power in range(9, 17)]

Value = str | bytes | int | float | None


class DamagedFile:
    """An SQLite file with missing or damaged pages, together with its write-ahead log.

    Attributes:
        pages: number of pages in the file; the last one may be truncated.
        missing: number of pages missing according to the file's header.
    """

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._file = file
        header = file.read(100).ljust(100, b"\0")
        (size,) = struct.unpack(">H", header[16:18])
        self._page_size = 65536 if size == 1 else size if size in _PAGE_SIZES else 4096
        self._usable = self._page_size - header[20]
        length = file.seek(0, 2)
        self.pages = -(-length // self._page_size)
        self.missing = max(0, struct.unpack(">I", header[28:32])[0] - self.pages)
        self._newer = _pages_of_log(Path(f"{path}-wal"), self._page_size)
        self._most = (self.pages + len(self._newer)) * self._page_size  # upper bound for the bytes of a row

    def rows(self) -> Iterator[tuple[Value, ...]]:
        """All rows of five columns that can be read; the values of damaged rows may be wrong."""
        for number in sorted({*range(1, self.pages + 1), *self._newer}):
            for payload in self._payloads(self._page(number), 100 if number == 1 else 0):
                try:
                    yield _row(payload)
                except (IndexError, ValueError):  # not a row
                    continue

    def _page(self, number: int) -> bytes:
        if number in self._newer:
            return self._newer[number]
        self._file.seek((number - 1) * self._page_size)
        return self._file.read(self._page_size).ljust(self._page_size, b"\0")

    def _payloads(self, page: bytes, start: int) -> Iterator[bytes]:
        if page[start] not in _ROW_PAGES:
            return
        (count,) = struct.unpack_from(">H", page, start + 3)
        first = start + _ROW_PAGES[page[start]]
        for at in range(first, min(first + 2 * count, self._page_size - 1), 2):
            (cell,) = struct.unpack_from(">H", page, at)
            try:
                length, body = _varint(page, cell + (4 if page[start] == 0x02 else 0))
                yield self._payload(page, body, length)
            except (IndexError, struct.error):  # an invalid pointer
                continue

    def _payload(self, page: bytes, body: int, length: int) -> bytes:
        """A row's bytes, from its page and its overflow pages."""
        if length > self._most:
            raise IndexError("a row longer than the file")
        most, least = ((self._usable - 12) * part // 255 - 23 for part in (64, 32))
        if length <= most:
            return page[body : body + length]
        local = least + (length - least) % (self._usable - 4)
        local = local if local <= most else least
        parts, left = [page[body : body + local]], length - local
        (following,) = struct.unpack_from(">I", page, body + local)
        seen: set[int] = set()
        while left > 0 and 0 < following <= self.pages + len(self._newer) and following not in seen:
            seen.add(following)
            further = self._page(following)
            parts.append(further[4 : min(self._usable, 4 + left)])
            left -= len(parts[-1])
            (following,) = struct.unpack_from(">I", further)
        return b"".join(parts)


def _pages_of_log(log: Path, page_size: int) -> Mapping[int, bytes]:
    """The newest version of each page in a write-ahead log."""
    content = log.read_bytes() if log.is_file() else b""
    frame = 24 + page_size
    pages = {}
    for at in range(32, len(content) - frame + 1, frame):
        if content[at + 8 : at + 16] == content[16:24]:  # of this run of the log, not of an earlier one
            (number,) = struct.unpack_from(">I", content, at)
            pages[number] = content[at + 24 : at + frame]
    return pages


def _varint(content: bytes, at: int) -> tuple[int, int]:
    """A variable-length integer of SQLite, and the position after it."""
    number = 0
    for place in range(at, at + 8):
        number = number << 7 | content[place] & 0x7F
        if content[place] < 0x80:
            return number, place + 1
    return number << 8 | content[at + 8], at + 9


def _row(payload: bytes) -> tuple[Value, ...]:
    """The five values of a row."""
    body, at = _varint(payload, 0)
    types: list[int] = []
    while at < body and len(types) <= _COLUMNS:
        kind, at = _varint(payload, at)
        types.append(kind)
    if len(types) != _COLUMNS:
        raise ValueError("another number of columns")
    values: list[Value] = []
    for kind in types:
        size = _SIZES[kind] if kind < len(_SIZES) else (kind - 12) // 2
        values.append(_value(kind, payload[body : body + size]))
        body += size
    return tuple(values)


def _value(kind: int, content: bytes) -> Value:
    if kind >= 12:
        return content.decode(errors="replace") if kind % 2 else content
    if kind == 7:
        return float(struct.unpack(">d", content)[0]) if len(content) == 8 else None
    return None if kind == 0 else kind - 8 if kind in (8, 9) else int.from_bytes(content, "big", signed=True)
