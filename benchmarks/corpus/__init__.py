"""The corpus: every rule that certgrad's verdict is known of, one row an entry, and one command that runs it.

`corpus/entries/SOURCE.jsonl` is what a person writes: where the rule is, and whether it is right or wrong.
`corpus/records/SOURCE.jsonl` is what the command wrote last: verdict, hypotheses, limits, processor seconds.
`make corpus` audits the entries and prints what differs from the records; it fails where something is weaker.
"""
