"""What a project says: its configuration and baseline, and what it accepts of a rule."""
