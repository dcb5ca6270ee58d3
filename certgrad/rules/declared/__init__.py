"""What an author says of a rule: shapes, structures, static arguments; and how it is written."""
