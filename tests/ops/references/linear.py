"""References of the ops of matrices."""

from ._reference import Reference

REFERENCES = {
    "linear": Reference(lambda x, weight, bias: x @ weight.T + bias),
}
