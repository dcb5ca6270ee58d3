"""Extensions by entry points of other distributions: ops (`certgrad.ops`) and formats of the audit
(`certgrad.formatters`).

Nothing of a plugin is imported before it is used, and a plugin that is broken is named with its distribution.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from certgrad.errors import UsageError

if TYPE_CHECKING:
    from certgrad.ops import Op

OPS = "certgrad.ops"
FORMATTERS = "certgrad.formatters"

Formatter = Callable[[dict[str, Any]], str]
"""From the document that `--format json` prints (`docs/schemas/audit-1.json`) to the text of the report."""


@dataclass(frozen=True)
class Plugin:
    """One entry point of a distribution."""

    entry: EntryPoint

    @property
    def name(self) -> str:
        """What the distribution calls it."""
        return self.entry.name

    @property
    def target(self) -> str:
        """The target of an audit of the plugin: `module` or `module:object`."""
        return f"{self.entry.module}:{self.entry.attr}" if self.entry.attr else self.entry.module

    @property
    def of(self) -> str:
        """The distribution with its version: `certgrad-sample 1.0`."""
        held = self.entry.dist
        return f"{held.name} {held.version}" if held is not None else "an unnamed distribution"

    @property
    def named(self) -> str:
        """The plugin's name and distribution, for messages."""
        return f"the plugin '{self.name}' of {self.of} ({self.target})"

    def load(self) -> Any:
        """Return the module or object. Raises UsageError, in which the plugin is named, where it does not import."""
        try:
            found: Any = importlib.import_module(self.entry.module)
            for part in filter(None, (self.entry.attr or "").split(".")):
                found = getattr(found, part)
        except (Exception, SystemExit) as error:
            raise UsageError(f"{self.named} does not load ({_one_line_error(error)}). {self.mend}") from None
        return found

    @property
    def mend(self) -> str:
        """Advice for whoever meets a broken plugin."""
        held = self.entry.dist
        return "Mend it" + (f", or remove it: pip uninstall {held.name}." if held is not None else ".")


def plugins(group: str) -> list[Plugin]:
    """Return the plugins of one group, by name; an entry that is installed twice counts once."""
    every = {(entry.name, entry.value, entry.dist.name if entry.dist else ""): entry for entry in _entries(group)}
    return [Plugin(every[key]) for key in sorted(every)]


def _entries(group: str) -> Iterator[EntryPoint]:
    yield from entry_points(group=group)


def ops_of(plugin: Plugin) -> list[tuple[str, Op]]:
    """The ops that a plugin offers, each with the target that names it. Raises UsageError where there is none."""
    from certgrad.ops import Op

    held = plugin.load()
    if isinstance(held, Op):
        return [(plugin.target, held)]
    found: dict[int, tuple[str, Op]] = {}
    for name, value in vars(held).items() if hasattr(held, "__dict__") else ():
        if isinstance(value, Op) and value.forward.__module__ == plugin.entry.module:
            found.setdefault(id(value), (f"{plugin.target}:{name}", value))
    if not found:
        raise UsageError(f"{plugin.named} declares no op with certgrad.op. {plugin.mend}")
    return list(found.values())


def formats() -> list[str]:
    """Return the names of the formats that plugins add."""
    return list(dict.fromkeys(plugin.name for plugin in plugins(FORMATTERS)))


def formatter(name: str) -> tuple[Plugin, Formatter]:
    """The plugin of a format, loaded. Raises UsageError where it does not load, is no function, or is one of two."""
    named = [plugin for plugin in plugins(FORMATTERS) if plugin.name == name]
    if len(named) > 1:
        both = " and ".join(plugin.of for plugin in named)
        raise UsageError(f"two plugins have a format '{name}': {both}. Remove one of them.")
    (plugin,) = named
    function = plugin.load()
    if not callable(function):
        raise UsageError(
            f"{plugin.named} is no function but a {type(function).__name__}: a format is a function from the document "
            f"of the audit to text. {plugin.mend}"
        )
    return plugin, function


def render(name: str, document: bytes) -> str:
    """The document of an audit in a plugin's format. Raises UsageError where the plugin fails, or returns no text."""
    plugin, function = formatter(name)
    try:
        text = function(json.loads(document))
    except Exception as error:
        raise UsageError(
            f"{plugin.named} failed ({_one_line_error(error)}). The audit itself is done. {plugin.mend}"
        ) from None
    if not isinstance(text, str):
        raise UsageError(f"{plugin.named} returned a {type(text).__name__}, and not a text. {plugin.mend}")
    return text


def _one_line_error(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
