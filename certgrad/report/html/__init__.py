"""An audit as one page that stands alone: summary, a table that filters and sorts, and all that is known of a rule.

Nothing is loaded, and every text of the user is escaped; the page forbids itself any network, and any script but its
own.
"""

from certgrad.report.html._page import check_installed, render

__all__ = ["check_installed", "render"]
