"""Writing files whole: a reader sees the old content or the new, never a part."""

import os
import stat
import tempfile
from pathlib import Path


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file through a temporary file in its directory, which then replaces it.

    A symbolic link keeps pointing where it did. A device or pipe, which cannot be replaced, is written to directly.
    Raises OSError, and then leaves the old file as it was.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        target.write_bytes(content)
        return
    descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
        os.chmod(temporary, _mode(target))
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def _mode(target: Path) -> int:
    """Return the permissions of a file; of one that does not exist yet, those that a new file gets."""
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
