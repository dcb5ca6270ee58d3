"""Terms of two proofs: told apart, compared by structure, and made anew where they become parts of one term."""

import threading

from certgrad.obligations.assume.fact import Fact
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.signs import POS
from certgrad.obligations.terms.atoms import access, dimension
from certgrad.obligations.terms.index import of_var
from certgrad.obligations.terms.polynomials import current, number
from certgrad.obligations.terms.power import content, log_of, power, pred
from certgrad.obligations.terms.rational import factored
from certgrad.obligations.terms.rewriting import Rewriter
from certgrad.obligations.terms.session import clear_caches, session
from certgrad.obligations.terms.sums import sum_over
from certgrad.obligations.terms.variables import fresh, template


def entry():
    return access("x", (of_var(template(0)),))


def normalised():
    """x[i] / Σⱼ exp(log(2 + [x[j] > 0]))·n."""
    j = fresh()
    other = access("x", (of_var(j),))
    total = sum_over(log_of(number(2) + pred(other)) * other, [(j, dimension("n"))])
    return entry() * power(total, -1) * dimension("n")


def across():
    """The same term, of an earlier session and of this one."""
    old = normalised()
    clear_caches()
    return old, normalised()


def test_equal_terms_of_two_sessions_are_equal():
    old, new = across()
    assert old == new
    assert new == old
    assert len({old, new}) == 1
    assert old != new + number(1)


def test_they_add_up_and_multiply():
    old, new = across()
    assert (old - new).is_zero
    assert (new + number(1) - old) == number(1)
    assert old * new == power(new, 2)
    assert all(a.mark is session.mark for m in old * new for a, _ in m)


def test_what_was_worked_out_about_an_older_one_serves_a_newer_one():
    old = entry() - number(1)
    clear_caches()
    content(old)
    new = entry() - number(1)
    found = factored(new)
    assert found is not None
    assert [(f, k) for f, k in found[1]] == [(new, 1)]


def test_what_is_made_anew_is_of_this_session():
    old, new = across()
    assert current(old) == new
    assert {a for m in current(old) for a, _ in m} == {a for m in new for a, _ in m}
    assert current(new) is new
    assert [*Rewriter()(old)] == [*new]


def test_an_older_assumption_is_used():
    old = entry()
    clear_caches()
    assert Facts([Fact(old, POS)]).signs(entry()) == POS


def test_a_thread_has_a_session_of_its_own():
    mine = entry()
    found = []
    thread = threading.Thread(target=lambda: found.extend([dict(session.interned), fresh(), entry()]))
    thread.start()
    thread.join()
    interned, variable, theirs = found
    assert interned == {}
    assert variable == ("f", 1, 1)
    assert theirs == mine
    assert next(iter(theirs))[0][0] is not next(iter(mine))[0][0]
