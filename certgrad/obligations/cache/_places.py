"""The source text of code objects, and its lines in files."""

from __future__ import annotations

import hashlib
import linecache
from collections.abc import Iterable
from itertools import groupby
from os.path import basename
from types import CodeType
from zlib import crc32


def text_of(code: CodeType) -> str:
    """Return the source lines of a code object, from its first decorator to its last instruction."""
    last = max((line for _, _, line in code.co_lines() if line is not None), default=code.co_firstlineno)
    return "".join(linecache.getlines(code.co_filename)[code.co_firstlineno - 1 : last])


def digest_of_texts(codes: Iterable[CodeType]) -> str:
    """Return a digest of the source texts, with comments; it does not depend on folders, nor on lines in a file."""
    texts = sorted((basename(code.co_filename), code.co_qualname, text_of(code)) for code in codes)
    return hashlib.blake2b(repr(texts).encode(errors="surrogatepass"), digest_size=20).hexdigest()


def lines_of(codes: Iterable[CodeType]) -> dict[str, list[tuple[int, int]]]:
    """Return, by file, the numbers of the lines of these codes, each with a checksum of the line.

    The order is that of file, qualified name and text, and does not depend on places in a file. A file has its name
    without a folder, and a further one of that name a number before it.
    """
    sources = sorted((c.co_filename, c.co_qualname, text_of(c), c.co_firstlineno) for c in codes)
    out: dict[str, list[tuple[int, int]]] = {}
    for path, group in groupby(sources, key=lambda source: source[0]):
        name = basename(path)
        file = name if name not in out else f"{len(out)}/{name}"
        out[file] = [
            (first + k, crc32(line.strip().encode(errors="surrogatepass")))
            for _, _, text, first in group
            for k, line in enumerate(text.splitlines())
        ]
    return out
