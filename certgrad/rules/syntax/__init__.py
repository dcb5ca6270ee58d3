"""The text of a project as syntax: its files, what names mean there, what expressions are. Nothing is imported."""
