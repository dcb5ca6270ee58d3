"""The import of the modules that a target names. Nothing that a module does may end the run."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from certgrad.errors import UsageError
from certgrad.rules.syntax.files import BUILD_FOLDERS, packages_around, python_files

from .nested import makes_rules

Begin = Callable[[str, bool], None]
"""A function that is called before each import, with the module's name and whether it is the target itself."""
NEVER_IMPORTED = {"__main__", "conftest", "setup"}
"""Names of modules that do something when they are imported."""
_NEEDED = set("jax jaxlib numpy sympy flint islpy msgspec typer rich certgrad scipy".split())


@dataclass(frozen=True)
class Loaded:
    """A module, or the reason why it was not imported."""

    name: str
    module: ModuleType | None = None
    problem: str = ""
    file: str = ""
    """The file that was not imported."""
    line: int = 1
    """The line of the file that failed."""
    passed_over: bool = False
    """Whether this is a file that is left out by rule, such as a test."""


def load(path: str, skip: Collection[str] = (), begin: Begin = lambda name, target: None) -> list[Loaded]:
    """Return the modules of a target without its object: one for a module or a file, all for a package or a folder.

    Args:
        path: the module, file or folder that the target names.
        skip: modules that are left out.
        begin: is called before each import, with the module's name and whether it is the target itself.

    Raises:
        UsageError: there is no such module, file or folder, or it does not import.
    """
    if not path:
        raise UsageError("A target is empty. Give a module, a package, a file or module:object.")
    file = Path(path)
    if file.is_dir():
        root, package = _of_folder(file.resolve())
        if any("." in part for part in file.resolve().relative_to(root).parts):
            if (file / "__init__.py").exists():
                raise UsageError(
                    f"The folder '{path}' is a package that Python cannot import: rename it without a dot."
                )
            root, package = (
                file.resolve(),
                None,
            )  # no package name has a dot: the files are imported by themselves
        _prepend_path(sys.path, str(root))
        if package is not None:
            loaded = _target(package, path, skip, begin)
            folders = [Path(p).resolve() for p in getattr(loaded[0].module, "__path__", ())]
            if file.resolve() not in folders:  # Python prefers a package with an `__init__.py` of the same name
                imported = folders[0] if folders else getattr(loaded[0].module, "__file__", "of Python itself")
                raise UsageError(
                    f"'{path}' is imported as '{package}', and that is {imported}: rename the folder, give it an "
                    "__init__.py, or name its files."
                )
            return loaded
        begin(path, True)
        return _of_root(root, skip, begin)
    if path.endswith(".py") or file.is_file():
        if not file.is_file():
            raise UsageError(f"There is no file '{path}'.")
        if file.suffix != ".py":
            raise UsageError(f"'{path}' is no Python file.")
        return [_file(file.resolve(), path, begin)]
    if "/" in path:
        raise UsageError(f"There is no file or folder '{path}'.")
    _prepend_path(sys.path, str(import_root(path)))
    return _target(path, path, skip, begin)


def import_root(module: str) -> Path:
    """Return the folder from which a module is imported: `src`, if only that has it, else the working directory."""
    here, name = Path.cwd(), module.partition(".")[0]
    return next((root for root in (here, here / "src") if _has(root, name)), here)


def _has(root: Path, name: str) -> bool:
    return (root / f"{name}.py").is_file() or (root / name).is_dir()


def _of_root(root: Path, skip: Collection[str], begin: Begin) -> list[Loaded]:
    """Return the modules of a folder that is no package, and of folders in it that only hold packages (`src`)."""
    only_holding = [c for c in sorted(root.iterdir()) if _imported_by_name(c.name, "") and _only_holds_packages(c)]
    out = [
        _unless_shadowed(root, loaded)
        for loaded in _in_folders([str(root)], "", skip, begin)
        if loaded.name.partition(".")[0] not in {c.name for c in only_holding}
    ]
    for folder in only_holding:
        _prepend_path(sys.path, str(folder))
        out += _of_root(folder, skip, begin)
    return out


def _only_holds_packages(folder: Path) -> bool:
    """Return whether a folder has packages and no Python files of its own."""
    return _holds_python(folder) and not any(folder.glob("*.py")) and any(folder.glob("*/__init__.py"))


def _imported_by_name(name: str, prefix: str) -> bool:
    """Return whether a module or folder of this name is imported.

    It is not if it is a test, a script or build folder by its name, or if the name has a dot. `prefix` is the package
    around it, with a dot at its end.
    """
    never = name in NEVER_IMPORTED or name.startswith("test") or name.endswith("_test")
    return not (never or "." in name or (not prefix and name in BUILD_FOLDERS))


def _unless_shadowed(root: Path, one: Loaded) -> Loaded:
    """Return a module of a folder; a problem instead if another module of that name was imported in its place."""
    file = getattr(one.module, "__file__", None)
    if one.problem or one.passed_over or (file and Path(file).is_relative_to(root)) or hasattr(one.module, "__path__"):
        return one
    problem = f"the module '{one.name}' is another one, {file or 'of Python itself'}: rename this"
    shadowed_file = root.joinpath(*one.name.split(".")).with_suffix(".py")
    return Loaded(one.name, problem=problem, file=str(shadowed_file) if shadowed_file.is_file() else "")


def _prepend_path(paths: list[str], path: str) -> None:
    if path not in paths[:1]:
        paths.insert(0, path)


def _of_folder(folder: Path) -> tuple[Path, str | None]:
    """Return the folder to import from and the package that `folder` is; None for the package if it is none."""
    if not (folder / "__init__.py").exists() and any((c / "__init__.py").exists() for c in folder.iterdir()):
        return folder, None
    if not (folder / "__init__.py").exists() and folder == Path.cwd():
        return folder, None
    packages = [folder, *packages_around(folder)]
    root = packages[-1].parent
    if not (folder / "__init__.py").exists() and root.is_relative_to(Path.cwd()):
        # A package without `__init__.py`: Python imports it by its path from the working directory.
        return Path.cwd(), ".".join(folder.relative_to(Path.cwd()).parts)
    return root, ".".join(package.name for package in reversed(packages))


def _target(name: str, shown: str, skip: Collection[str], begin: Begin) -> list[Loaded]:
    """Return the module of a target and all modules below it; `shown` is the target as errors name it."""
    begin(name, True)
    module = _imported(name, shown)
    return [Loaded(name, module), *_below(module, skip, begin)]


def _file(file: Path, shown: str, begin: Begin) -> Loaded:
    """Import a file and return it: as the module of its package if it is in one, else by itself."""
    root, package = _of_folder(file.parent)
    if (file.parent / "__init__.py").exists() and package:
        name = package if file.stem == "__init__" else f"{package}.{file.stem}"
        _prepend_path(sys.path, str(root))
        begin(name, True)
        return Loaded(name, _imported(name, shown))
    name = file.stem
    if name in sys.modules or name in sys.stdlib_module_names or name in _NEEDED:
        name = f"{name}_py"  # another module has this name, and must not be replaced by the file
    spec = importlib.util.spec_from_loader(name, importlib.machinery.SourceFileLoader(name, str(file)))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.append(str(file.parent)) if name != file.stem else _prepend_path(sys.path, str(file.parent))
    begin(name, True)
    loader = spec.loader
    _run(lambda: loader.exec_module(module), shown, name)
    return Loaded(name, module)


def _imported(name: str, shown: str) -> ModuleType:
    modules: list[ModuleType] = []
    _run(lambda: modules.append(importlib.import_module(name)), shown, name)
    return modules[0]


def _run(work: Callable[[], None], shown: str, name: str) -> None:
    """Run an import. Raises UsageError, with the reason, for whatever it raises but a KeyboardInterrupt."""
    try:
        work()
    except KeyboardInterrupt:
        raise
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if missing == name or name.startswith(f"{missing}."):
            where = "" if missing == name else f" (there is no '{missing}')"
            raise UsageError(
                f"There is no module '{shown}'{where}. Give a module, a package, a file or module:object."
            ) from None
        raise UsageError(f"Cannot import '{shown}': {error}. {_place_of_error(error)}Install it first.") from None
    except BaseException as error:
        raise UsageError(f"Cannot import '{shown}': {problem_of(error)}") from None


def problem_of(error: BaseException) -> str:
    """Return why an import failed, with the place: `ValueError: no (rules.py:3)`."""
    if isinstance(error, SystemExit):
        return f"it calls sys.exit({'' if error.code is None else repr(error.code)}). {_place_of_error(error)}".strip()
    if isinstance(error, SyntaxError):
        where = f" ({Path(error.filename).name}:{error.lineno})" if error.filename else ""
        return f"{type(error).__name__}: {error.msg}{where}"
    if isinstance(error, ImportError) and "no known parent package" in str(error):
        return f"{error}. {_place_of_error(error)}Give the module's name in its package, as in `package.module`."
    return f"{type(error).__name__}: {' '.join(str(error).split())} {_place_of_error(error)}".strip()


def _place_of_error(error: BaseException) -> str:
    """Return the last line of the module's own code that led to the error, as "(rules.py:3) "; "" if none did."""
    place, trace = "", error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not file.startswith("<") and Path(file) != Path(__file__):
            place = f"({Path(file).name}:{trace.tb_lineno}) "
        trace = trace.tb_next
    return place


def _below(module: ModuleType, skip: Collection[str], begin: Begin) -> list[Loaded]:
    """Return all modules of a package, without the package itself; [] for a module."""
    paths = getattr(module, "__path__", None)
    if paths is None:
        return []
    return _in_folders(list(paths), f"{module.__name__}.", skip, begin)


def _in_folders(paths: list[str], prefix: str, skip: Collection[str], begin: Begin) -> list[Loaded]:
    """Import all modules, packages and folders of modules in folders of a package, and return them.

    Files that are not imported are returned too: as passed over, or with a problem if they make rules and only their
    names prevent the import.
    """
    children: dict[str, Path | None] = {info.name: None for info in pkgutil.iter_modules(paths)}  # None: a module
    for folder in (Path(p) for p in paths if Path(p).is_dir()):
        children |= {c.name: c for c in folder.iterdir() if c.name not in children and _holds_python(c)}
        children |= {c.stem: c for c in folder.glob("*.py") if c.stem != "__init__" and not c.name.startswith(".")}
    out: list[Loaded] = []
    for name, place in sorted(children.items()):
        if _imported_by_name(name, prefix):
            out += _tree(prefix + name, skip, begin)
            continue
        child = place or next((c for p in paths if (c := Path(p, name)).is_dir()), None)
        files = [] if child is None else [child] if child.is_file() else _python_below(child)
        for file in files:
            if "." in name and makes_rules(str(file)):
                problem = (
                    f"'{name}' cannot be the name of a module: rename it without a dot, or give the file as a target"
                )
                out.append(Loaded(prefix + name, problem=problem, file=str(file)))
            else:
                out.append(Loaded(prefix + name, file=str(file), passed_over=True))
    return out


def _tree(name: str, skip: Collection[str], begin: Begin) -> Iterator[Loaded]:
    """Yield a module and all modules below it; if it does not import, the problem alone."""
    if name in skip:
        return
    begin(name, False)
    try:
        module = importlib.import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # an import may call sys.exit; one broken module must not end the run
        file = _file_of(name)
        yield Loaded(name, None, f"does not import: {problem_of(error)}", file, _line_in(file, error))
        return
    yield Loaded(name, module)
    yield from _below(module, skip, begin)


def _file_of(name: str) -> str:
    """Return the file of a module that does not import; "" if it is not known."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, AttributeError, ValueError):
        return ""
    return (spec.origin or "") if spec is not None and spec.has_location else ""


def _line_in(file: str, error: BaseException) -> int:
    """Return the line of a file at which its import failed; 1 if it is not known."""
    if isinstance(error, SyntaxError) and error.filename == file:
        return error.lineno or 1
    line, trace = 1, error.__traceback__
    while trace is not None:
        line = trace.tb_lineno if trace.tb_frame.f_code.co_filename == file else line
        trace = trace.tb_next
    return line


def _holds_python(folder: Path) -> bool:
    """Return whether a folder has Python files at any depth, but for hidden folders, caches and environments."""
    return folder.is_dir() and next(iter(_python_below(folder)), None) is not None


def _python_below(folder: Path) -> Iterator[Path]:
    of_tools = _hidden(folder) or (folder / "pyvenv.cfg").is_file()
    return iter(()) if of_tools else python_files(folder, _hidden)


def _hidden(folder: Path) -> bool:
    return folder.name.startswith((".", "__pycache__"))
