"""Terms about loops, rewritten."""

from certgrad.obligations.laws.recurrences import Open, System, fresh_carry, solve
from certgrad.obligations.laws.unfolding import unfolded
from certgrad.obligations.terms.atoms import access, dimension
from certgrad.obligations.terms.index import of_var
from certgrad.obligations.terms.index_terms import index_pred
from certgrad.obligations.terms.polynomials import ONE
from certgrad.obligations.terms.sums import max_over
from certgrad.obligations.terms.variables import fresh


def test_a_maximum_over_some_steps_is_not_one_over_all():
    """Of c[s + 1] = c[s]² + x[s]: the greatest of the first j values is another term than the greatest of all."""
    step, carry, place, n = fresh(), fresh_carry(), ("u", 0, 0), dimension("n")
    own = access(carry, (of_var(step),))
    system = System(step, [Open(carry, (), (), access("a", ()), own * own + access("x", (of_var(step),)))])
    value = solve(system)[carry]

    def greatest(where):
        k = fresh()
        entry = value(of_var(k).shifted(ONE), ())
        return unfolded(max_over(entry, [(k, n)], where(of_var(k))), {place: n})

    some, every = greatest(lambda k: index_pred(of_var(place).minus(k))), greatest(lambda k: ONE)
    assert some != every
    assert place in some.free
