"""What earlier audits proved, kept on disk, so that an audit whose traces come out the same need not prove it again.

The tracing of an op is never skipped: an entry holds the list of traces that an audit asked for and the fingerprint of
each, and serves its certificate only after all of them were made again and came out the same (`generality/traces.py`
says why no other traces would be asked for). Whoever can write the folder can forge verdicts, as with any build cache.

Submodules load on first use, so that the folder is tidied without the kernel.
"""

from typing import TYPE_CHECKING

from certgrad.process.on_demand import door

if TYPE_CHECKING:
    from certgrad.obligations.cache._cache import Cache
    from certgrad.obligations.cache._files import digest, package_is_as_it_was, package_source, state_below
    from certgrad.obligations.cache._folder import DEFAULT_FOLDER, Folder, entry_name
    from certgrad.obligations.cache._homes import UnknownError, home_of
    from certgrad.obligations.cache._identity import Identity
    from certgrad.obligations.cache._key import of_library, package_surroundings
    from certgrad.obligations.cache._places import digest_of_texts, lines_of
    from certgrad.obligations.cache._sources import beyond_project, packages_of, sources_of

_PUBLIC = {
    "DEFAULT_FOLDER": "_folder",
    "Cache": "_cache",
    "Folder": "_folder",
    "Identity": "_identity",
    "UnknownError": "_homes",
    "beyond_project": "_sources",
    "digest": "_files",
    "digest_of_texts": "_places",
    "entry_name": "_folder",
    "home_of": "_homes",
    "lines_of": "_places",
    "of_library": "_key",
    "package_is_as_it_was": "_files",
    "package_source": "_files",
    "package_surroundings": "_key",
    "packages_of": "_sources",
    "sources_of": "_sources",
    "state_below": "_files",
}

__all__ = [
    "DEFAULT_FOLDER",
    "Cache",
    "Folder",
    "Identity",
    "UnknownError",
    "beyond_project",
    "digest",
    "digest_of_texts",
    "entry_name",
    "home_of",
    "lines_of",
    "of_library",
    "package_is_as_it_was",
    "package_source",
    "package_surroundings",
    "packages_of",
    "sources_of",
    "state_below",
]


__getattr__ = door(__name__, _PUBLIC)
