"""One rule, and its certificate: cases, attempts, judgement, witnesses, conventions."""
