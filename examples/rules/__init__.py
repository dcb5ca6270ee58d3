"""Custom derivative rules as people write them, right and wrong: `certgrad audit examples/rules` tells them apart.

A name that starts with `wrong_` belongs to a rule with a common mistake, which its docstring names.
"""
