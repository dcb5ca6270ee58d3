"""What a page shows of a rule beside its certificate: both sides as traced, programs, plots, a mend, drawings.

with_plots(exhibit(subject), subject, certificate)  # for `certgrad audit --output html=PATH`

Nothing here decides anything: where a part cannot be made it is left out.
"""

from certgrad.exhibits._make import exhibit, with_plots

__all__ = ["exhibit", "with_plots"]
