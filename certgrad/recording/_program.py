"""Running a program as `python` would: a script, or a module with `-m`."""

from __future__ import annotations

import io
import os
import runpy
import sys
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType, TracebackType


@dataclass(frozen=True)
class Program:
    """A program and its arguments: a script, a folder or archive with `__main__.py`, or (`module`) a module."""

    name: str
    arguments: tuple[str, ...] = ()
    module: bool = False


@dataclass(frozen=True)
class Ended:
    """How a program ended: its exit status; `interrupted` if it was stopped from the keyboard."""

    status: int
    interrupted: bool = False


def run(program: Program, beside: AbstractContextManager[None]) -> Ended:
    """Run a program to its end, its threads included, inside the context `beside`, and return how it ended.

    Its output and its traceback are those of a run by `python`.
    """
    main = ModuleType("__main__")  # the program gets a `__main__` of its own, not this command's
    main.__dict__.update(__builtins__=sys.modules["builtins"], __annotations__={})
    sys.modules["__main__"] = main
    sys.excepthook = sys.__excepthook__
    sys.argv = ["-m" if program.module else program.name, *program.arguments]
    with beside:
        try:
            _begin(program, main)
            ended = Ended(0)
        except SystemExit as error:
            ended = Ended(_status(error))
        except BaseException as error:
            error.__traceback__ = _of_the_program(error.__traceback__)
            sys.excepthook(type(error), error, error.__traceback__)
            interrupted = isinstance(error, KeyboardInterrupt)
            ended = Ended(130 if interrupted else 1, interrupted)
        if not ended.interrupted:
            _join_threads()
    return ended


def _begin(program: Program, main: ModuleType) -> None:
    """Run a program as `__main__`, which is the module `main` for a script in source."""
    path = program.name
    if program.module:
        _look_first_in(os.getcwd())
        runpy._run_module_as_main(path)  # type: ignore[attr-defined]  # what `python -m` calls
        return
    if Path(path).is_dir() or not _is_source(path):
        _look_first_in(path, always=True)
        runpy._run_module_as_main("__main__", alter_argv=False)  # type: ignore[attr-defined]
        return
    _look_first_in(os.path.dirname(os.path.realpath(path)))
    file = os.path.abspath(path)
    with io.open_code(file) as source:
        code = compile(source.read(), file, "exec", dont_inherit=True)
    main.__dict__.update(
        __file__=file, __cached__=None, __loader__=SourceFileLoader("__main__", file), __package__=None, __spec__=None
    )
    exec(code, main.__dict__)


def _is_source(path: str) -> bool:
    """Return whether Python reads a program as source: any file but an archive."""
    import zipfile

    return not zipfile.is_zipfile(path)


def _look_first_in(folder: str, always: bool = False) -> None:
    """Put the program's folder first in `sys.path`, in place of this command's own; in safe mode only if `always`."""
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = folder
    elif always:
        sys.path.insert(0, folder)


def _status(error: SystemExit) -> int:
    """Return the exit status that Python makes of `sys.exit(…)`: None is 0; any text is printed, and is 1."""
    code = error.code
    if code is None:
        return 0
    if isinstance(code, int):
        return code
    sys.stdout.flush()
    print(code, file=sys.stderr)
    return 1


def _of_the_program(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames of this file, from which the program was started."""
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return trace


def _join_threads() -> None:
    """Wait for the program's threads, as Python does before it ends."""
    own = threading.current_thread()
    while waiting := [t for t in threading.enumerate() if not t.daemon and t is not own]:
        waiting[0].join()


def programs(arguments: Sequence[str]) -> Program | None:
    """Return the program that the arguments of a command line name; None if they name none."""
    if arguments[:1] == ["-m"]:
        return Program(arguments[1], tuple(arguments[2:]), module=True) if len(arguments) > 1 else None
    if arguments and arguments[0].startswith("-m") and len(arguments[0]) > 2:
        return Program(arguments[0][2:], tuple(arguments[1:]), module=True)
    return Program(arguments[0], tuple(arguments[1:])) if arguments else None
