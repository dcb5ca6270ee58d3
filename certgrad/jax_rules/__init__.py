"""The derivative rules of the installed JAX, proved like a user's: primitives, custom rules, functions of its modules.

`_enumerate` says what there is, `configurations` declares for which shapes and parameters each is audited, `_audit`
proves it.
"""

from ._audit import audit, names
from ._enumerate import subjects

__all__ = ["audit", "names", "subjects"]
