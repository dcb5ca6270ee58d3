"""What code reaches is looked at once, and no more of it than may run."""

from certgrad.obligations.generality.reach import is_users, reachable_from


class Model:
    """Its methods reach one another by the object, which makes each anew."""

    def first(self, x):
        return self.second(x)

    def second(self, x):
        assert x is not None
        return self.first(x)


def test_methods_that_reach_one_another_are_looked_at_once():
    found = [f.__name__ for f in reachable_from([Model().first])]
    assert sorted(found) == ["first", "second"]  # and nothing of pytest, which writes calls into the assert


def test_certgrads_own_code_is_no_users():
    assert is_users(Model.first)
    assert not is_users(reachable_from)
    assert not is_users(len)
