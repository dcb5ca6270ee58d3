"""What earlier audits proved, kept on disk, so that an audit whose traces come out the same need not prove them again.

Tracing is never skipped: an entry holds the list of traces that an audit asked for and the fingerprint of each, and
serves its certificate only after all of them were made again and came out the same (`_traces` says why no other would
be asked for). Whoever can write the folder can forge verdicts, as with any build cache.
"""

from certgrad.obligations.cache._cache import Cache
from certgrad.obligations.cache._folder import DEFAULT_FOLDER, Folder

__all__ = ["DEFAULT_FOLDER", "Cache", "Folder"]
