"""An audit as one HTML page in one file: a summary, a table that filters and sorts, and details of each rule.

The page loads nothing, and every text of the user is escaped; its content security policy forbids any network, and any
script but its own.
"""

from certgrad.report.html._page import check_installed, render

__all__ = ["check_installed", "render"]
