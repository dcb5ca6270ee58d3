"""Terms as text for people."""

from certgrad.obligations.wording.present import _shortened_text


def test_how_often_a_loop_runs_has_no_digest_in_what_is_read() -> None:
    """Loops that end by their values are told apart by their programs; a reader is told which is which."""
    text = _shortened_text("x[steps ebb05951a23422e4] + y[steps 0123456789abcdef] - x[steps ebb05951a23422e4-1]")
    assert text == "x[steps] + y[steps2] - x[steps-1]"
