"""The command line: `main` is the console script. Each command is one file, registered in `_app.py`."""

from certgrad.cli._app import app, main

__all__ = ["app", "main"]
