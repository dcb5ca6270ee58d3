"""The verdict on a rule: attempts at a proof, the sizes and values that they are made at, and their joint report."""
