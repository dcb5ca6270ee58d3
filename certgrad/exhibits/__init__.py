"""Exhibits: what a page shows of a rule beside its certificate.

An exhibit has both sides of each obligation as traced, programs, plots, a mend and drawings:
`with_plots(exhibit(subject), subject, certificate)` for `certgrad audit --output html=PATH`. No verdict depends on it:
a part that cannot be made is left out.
"""

from certgrad.exhibits._make import exhibit, with_plots

__all__ = ["exhibit", "with_plots"]
