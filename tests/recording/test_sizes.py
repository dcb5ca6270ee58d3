"""Which axes get a name of their own."""

from certgrad.recording._sizes import Lengths


def test_axes_that_differ_have_different_names_and_the_others_are_tried_apart():
    calls = [[[4, 4], [4]], [[5, 4], [4]]]
    assert Lengths(calls, lambda s: True).apart() == ["n d", "m"]
    assert Lengths(calls, lambda s: s[0][1] == s[1][0]).apart() == ["n d", "d"]


def test_axes_are_joined_where_the_code_needs_it_and_only_those():
    lengths = Lengths([[[8, 8], [8], [8]]], lambda s: s[0][1] == s[1][0])
    assert lengths.apart() == ["n d", "d", "m"]
    assert lengths.joined() == ["n n", "n", "n"]


def test_lengths_that_depend_on_each_other():
    near = Lengths([[[5], [6]]], lambda s: s[1][0] == s[0][0] + 1)
    assert near.apart() == ["n", "n+1"]
    twice = Lengths([[[6, 3], [12]]], lambda s: s[1][0] == 2 * s[0][0])
    assert twice.apart() == ["n d", "2*n"]


def test_lengths_that_must_be_multiples_or_numbers():
    assert Lengths([[[16]]], lambda s: s[0][0] % 8 == 0).apart() == ["8*n"]
    assert Lengths([[[10, 3]]], lambda s: s[0][0] == 10).apart() == ["10 n"]
    assert Lengths([[[1, 3], [4, 3]]], lambda s: s[0][0] == 1 and s[0][1] == s[1][1]).apart() == ["1 n", "d n"]


def test_what_does_not_run_at_all_is_taken_as_it_was_called():
    assert Lengths([[[4, 3], [3]]], lambda s: False).apart() == ["n d", "d"]


def test_names_that_mean_something_else_are_not_taken():
    assert Lengths([[[4, 3]]], lambda s: True, ["n"]).apart() == ["d m"]


def test_a_number_is_the_whole_claim_only_where_the_code_runs_at_no_other():
    """A vector of three has no other length; a transform of powers of two has, and the claim is then about one."""
    three = Lengths([[[10, 3]]], lambda s: s[0][1] == 3)
    assert (three.apart(), three.kept) == (["n 3"], {})
    power = Lengths([[[10, 16]]], lambda s: (s[0][1] & (s[0][1] - 1)) == 0)
    assert (power.apart(), power.kept) == (["n 16"], {"axis 1 of array 1": 16})
    square = Lengths([[[9]]], lambda s: s[0][0] in (1, 4, 9, 16, 25))
    assert (square.apart(), square.kept) == (["9"], {"axis 0 of array 1": 9})
