"""Laws of the calculus: functions, matrices, products, order, recurrences, solutions of equations."""

from typing import TYPE_CHECKING

from certgrad.process.on_demand import door

if TYPE_CHECKING:
    from . import (
        counts,
        directions,
        half_spectra,
        homogeneous,
        inverses,
        log_space,
        logarithms,
        monotone,
        multiple_angles,
        places,
        roots,
        roots_of_unity,
        shifts,
        sum_ends,
        thresholds,
        transposition,
        unfolding,
    )

__getattr__ = door(
    __name__,
    modules="counts directions half_spectra homogeneous inverses log_space logarithms monotone multiple_angles places "
    "roots roots_of_unity shifts sum_ends thresholds transposition unfolding",
)
