"""The command line. `main` is the console script; one command a file, registered in `_app.py`."""

from certgrad.cli._app import app, main

__all__ = ["app", "main"]
