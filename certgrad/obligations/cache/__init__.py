"""What earlier audits proved, kept on disk, so that an audit whose traces come out the same need not prove them again.

Tracing is never skipped: an entry holds the list of traces that an audit asked for and the fingerprint of each, and
serves its certificate only after all of them were made again and came out the same (`_traces` says why no other would
be asked for). Whoever can write the folder can forge verdicts, as with any build cache.

Submodules load on first use: the folder is tidied without the kernel.
"""

from typing import TYPE_CHECKING

from certgrad.process.on_demand import door

if TYPE_CHECKING:
    from certgrad.obligations.cache._cache import Cache
    from certgrad.obligations.cache._folder import DEFAULT_FOLDER, Folder
    from certgrad.obligations.cache._homes import UnknownError
    from certgrad.obligations.cache._identity import Identity
    from certgrad.obligations.cache._key import entry_name, of_library, package_is_as_it_was, package_surroundings
    from certgrad.obligations.cache._sources import sources_of

_PUBLIC = {
    "DEFAULT_FOLDER": "_folder",
    "Cache": "_cache",
    "Folder": "_folder",
    "Identity": "_identity",
    "UnknownError": "_homes",
    "entry_name": "_key",
    "of_library": "_key",
    "package_is_as_it_was": "_key",
    "package_surroundings": "_key",
    "sources_of": "_sources",
}

__all__ = [
    "DEFAULT_FOLDER",
    "Cache",
    "Folder",
    "Identity",
    "UnknownError",
    "entry_name",
    "of_library",
    "package_is_as_it_was",
    "package_surroundings",
    "sources_of",
]


__getattr__ = door(__name__, _PUBLIC)
