"""A project's configuration and baseline, and what it accepts of a rule."""
