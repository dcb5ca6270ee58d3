"""`certgrad audit` on modules, packages and files, as a user runs it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from certgrad.errors import UsageError
from certgrad.report.audited import RuleResult
from certgrad.rules.finding.find import find
from certgrad.rules.judging.by_name import examined
from certgrad.rules.project.configuration import Budget
from certgrad.rules.workers.crew import audit_targets
from certgrad.rules.workers.worker import Failure

ROOT = Path(__file__).parents[2]
RULES = """
import jax
import jax.numpy as jnp
import certgrad

@certgrad.declare("n d, d -> n")
@jax.custom_vjp
def energy(x, w):
    return jnp.sum(x * w, axis=-1) ** 2

def fwd(x, w):
    s = jnp.sum(x * w, axis=-1)
    return s**2, (x, w, s)

def bwd(res, g):
    x, w, s = res
    return 2 * (g * s)[:, None] * w, jnp.sum(2 * (g * s)[:, None] * x, axis=0)

energy.defvjp(fwd, bwd)
again = energy

@jax.custom_vjp
def softplus(x):
    return jnp.logaddexp(x, 0.0)

softplus.defvjp(lambda x: (softplus.fun(x), x), lambda x, g: (g * jax.nn.sigmoid(x) * (x > -20),))

@jax.custom_vjp
def unfinished(x):
    return x
"""


@pytest.fixture
def folder(tmp_path):
    package = tmp_path / "mypkg"
    package.mkdir()
    (package / "__init__.py").write_text("from .rules import energy\n")
    (package / "rules.py").write_text(RULES)
    (package / "broken.py").write_text("raise RuntimeError('not today')\n")
    return tmp_path


def audit(folder, *arguments):
    path = os.pathsep.join([str(ROOT), str(folder)])
    return subprocess.run(
        [sys.executable, "-m", "certgrad", "audit", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "JAX_PLATFORMS": "cpu", "CERTGRAD_FORMAT": "text"},
        capture_output=True,
        text=True,
        check=False,
    )


DECLARED = """
import jax
import jax.numpy as jnp
import certgrad

@certgrad.declare("n", domain="x > 0")
@jax.custom_vjp
def inside(x):
    return jnp.log(x)

inside.defvjp(lambda x: (jnp.log(x), x), lambda x, g: (g / x,))

@certgrad.declare("n, n", differentiable=["x"])
@jax.custom_vjp
def scaled(x, w):
    return x * w

scaled.defvjp(lambda x, w: (x * w, w), lambda w, g: (g * w, None))
"""


@pytest.mark.slow
def test_what_strict_says_of_domains_and_of_arguments_that_are_left_out(tmp_path):
    (tmp_path / "declared.py").write_text(DECLARED)
    done = audit(tmp_path, "declared.py", "--strict")
    assert done.returncode == 1, done.stdout + done.stderr
    failed = [line for line in done.stdout.splitlines() if "declared:" in line and "CG2" in line]
    assert len(failed) == 1, "a declared domain is a hypothesis, and hypotheses are no remarks"
    assert "CG204 declared:scaled" in failed[0]
    done = audit(tmp_path, "declared.py", "--strict", "--ignore", "CG204")  # the verdicts are remembered
    assert done.returncode == 0, done.stdout + done.stderr
    assert "CG204" not in done.stdout + done.stderr


@pytest.mark.slow
def test_a_package_with_a_broken_module(folder):
    done = audit(folder, "mypkg")
    assert done.returncode == 1
    assert "mypkg.rules:energy" in done.stdout
    assert done.stdout.count("energy ") == 1, "a rule that is re-exported is audited once"
    assert "CG102 mypkg.rules:softplus.vjp_is_adjoint: refuted" in done.stdout
    assert (
        "CG208 mypkg.broken (mypkg/broken.py:1): not audited: does not import: RuntimeError: not today" in done.stderr
    )
    assert "CG201 mypkg.rules:unfinished (mypkg/rules.py:28): not audited: a custom_vjp without defvjp" in done.stderr
    assert "shapes are inferred" in done.stderr


@pytest.mark.slow
def test_one_object_of_a_file(folder):
    done = audit(folder, "mypkg/rules.py:energy")
    assert done.returncode == 0, done.stderr
    assert "1 proved" in done.stdout


HOLDER = """
import jax

@jax.custom_jvp
def curve(x):
    return x**2

curve.defjvp(lambda p, t: (curve(*p), 2 * p[0] * t[0]))

class Curves:
    @jax.custom_jvp
    def cubic(x):
        return x**3

    cubic.defjvp(lambda p, t: (p[0] ** 3, 3 * p[0] ** 2 * t[0]))

hidden = jax.custom_jvp(lambda x: 2 * x)
hidden.defjvp(lambda p, t: (2 * p[0], 2 * t[0]))
again = jax.jit(curve)
"""


@pytest.fixture
def offering(tmp_path, monkeypatch):
    """A distribution whose public modules offer rules of a private one."""
    for name, text in {
        "offering/__init__.py": "",
        "offering/_src/__init__.py": "",
        "offering/_src/holder.py": HOLDER,
        "offering/nn/__init__.py": "from offering._src.holder import Curves, again, curve, hidden as _hidden\n",
        "offering/itself.py": "from offering._src.holder import curve as curve, hidden\n",
        "offering/listed.py": "from offering._src.holder import again, hidden\n__all__ = ['hidden']\n",
        "offering/own_use.py": "from offering._src.holder import curve, hidden as two\n",
        "another/__init__.py": "from offering._src.holder import curve as curve\n__all__ = ['curve']\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in [n for n in sys.modules if n.partition(".")[0] in ("offering", "another")]:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("target", "rules"),
    [
        ("offering.nn", ["Curves.cubic", "curve"]),
        ("offering.itself", ["curve"]),
        ("offering.listed", ["hidden"]),
        ("offering.own_use", []),
        ("another", []),
    ],
)
def test_rules_that_a_module_offers_from_elsewhere_in_its_distribution(offering, target, rules):
    """Each once, where it is defined; what a module imports for its own use or from others is not its own."""
    found = find(target)
    assert [f.name for f in found.rules] == [f"offering._src.holder:{name}" for name in rules]
    assert found.names == (target, *(f.name for f in found.rules))


def test_in_the_whole_package_each_rule_is_listed_once(offering):
    found = find("offering")
    assert [f.name.partition(":")[2] for f in found.rules] == ["Curves.cubic", "curve", "hidden"]
    assert found.names == ("offering",)


def test_a_public_module_of_jax():
    found = [f.name for f in find("jax.nn").rules]
    assert "jax._src.nn.functions:relu" in found
    assert len(found) == len(set(found))


@pytest.mark.one_in(4)
@pytest.mark.parametrize("target", ["nosuch.module", "nosuch.py", "mypkg.rules:nothing", "mypkg.broken"])
def test_a_target_that_is_not_there(folder, target):
    done = audit(folder, target)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


IGNORED = """
import jax

@jax.custom_vjp
def f(x):{}
    return 2 * x

f.defvjp(lambda x: (2 * x, None), lambda _, g: ({} * g,))
"""


@pytest.mark.one_in(5)
@pytest.mark.parametrize(
    ("comment", "factor", "verdict", "said"),
    [
        ("ignore[CG102] known, see the tracker", 3, "proved", "CG102 is ignored: known, see the tracker"),
        ("ignore[CG103, CG202] another one", 3, "refuted", "CG205 the comment that ignores CG103 is not needed"),
        ("ignore[CG102] outdated", 2, "proved", "CG205 the comment that ignores CG102 is not needed"),
        ("ignore[CG102]", 3, "refuted", "CG205 line 5 ignores CG102 without a reason"),
        ("ignore[CG999] why", 3, "refuted", "CG205 line 5 ignores 'CG999', which is no code"),
        ("ignore all of it", 3, "refuted", "CG205 line 5 names no code to ignore"),
        ("ignore[CG202] shapes are plain", 2, "proved", "CG202 is ignored: shapes are plain"),
    ],
)
def test_findings_that_are_ignored(tmp_path, monkeypatch, comment, factor, verdict, said):
    monkeypatch.setattr(sys, "path", list(sys.path))
    file = tmp_path / f"ignoring_{abs(hash((comment, factor)))}.py"
    file.write_text(IGNORED.format(f"  # certgrad: {comment}", factor))
    (found,) = find(str(file)).rules
    result, _ = examined(found, {})
    assert result.certificate.verdict == verdict
    assert any(said in text for text in [*result.notes, *(f"{r.code} {r.text}" for r in result.remarks)])
    assert ("CG202" in {r.code for r in result.remarks}) != ("CG202" in comment)


def test_what_is_not_finished_can_be_ignored(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "unfinished_rule.py").write_text(
        "import jax\n@jax.custom_vjp\ndef f(x):  # certgrad: ignore[CG201, CG102] next week\n    return x\n"
    )
    (found,) = find(str(tmp_path / "unfinished_rule.py")).rules
    result, _ = examined(found, {})
    assert (result.certificate, result.remarks, result.notes) == (None, [], ["CG201 is ignored: next week"])


def test_a_declaration_that_does_not_fit(folder, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (folder / "mypkg" / "fine.py").write_text(
        "import jax, certgrad\nf = certgrad.declare('n -> n')(jax.custom_vjp(lambda x, y: x * y))\n"
        "f.defvjp(lambda x, y: (x * y, (x, y)), lambda r, g: (g * r[1], g * r[0]))\n"
    )
    (found,) = find(str(folder / "mypkg/fine.py")).rules
    result, _ = examined(found, {})
    (remark,) = result.remarks
    assert (result.certificate, remark.code, Path(found.where).name) == (None, "CG206", "fine.py:2")
    assert remark.text.startswith("not audited: takes 2 array arguments")


FINE = "import jax\nf = jax.custom_vjp(lambda x: 2 * x)\nf.defvjp(lambda x: (2 * x, None), lambda _, g: (2 * g,))\n"
HOSTILE = {
    "hostile/__init__.py": "",
    "hostile/__main__.py": "raise RuntimeError('must not be imported')",
    "hostile/a_circle.py": f"from . import b_circle\n{FINE}",
    "hostile/b_circle.py": "from . import a_circle\n",
    "hostile/exits.py": "import sys\nsys.exit(3)",
    "hostile/leaves.py": "import os\nos._exit(0)",
    "hostile/loop.py": "while True: pass",
    "hostile/prints.py": f"print('{{}}')\n{FINE}",
    "hostile/syntax.py": "def f(:",
    "hostile/needs.py": "import nosuchmodule",
    "hostile/zz_reexport.py": "from .prints import f\nfrom jax.nn import relu\nfrom jax.nn import *\n",
    "spaced/deep/rules.py": FINE,
    "spaced/my-rules.py": FINE,
    "spaced/loose.py": "from . import nothing",
    "spaced/leaves.py": "import os\nos._exit(7)",
    "spaced/notes.txt": "",
    "spaced/null.py": "import jax\n\0\n",
    "spaced/dir.py/rules.py": FINE,
    "spaced/pack.age/__init__.py": FINE,
}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    for name, text in HOSTILE.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def results(folder, target, monkeypatch):
    monkeypatch.chdir(folder)
    found = [r for r in audit_targets([target], Budget(importing=4)) if isinstance(r, RuleResult)]
    return {r.name: next((m.text for m in r.remarks if m.code in ("CG201", "CG208")), "") for r in found}


@pytest.mark.slow
def test_modules_that_do_their_worst(hostile, monkeypatch):
    found = results(hostile, "hostile", monkeypatch)
    assert found == {
        "hostile.a_circle:f": "",
        "hostile.exits": "not audited: does not import: it calls sys.exit(3). (exits.py:2)",
        "hostile.leaves": "not audited: does not import: it ended the process (exit status 0)",
        "hostile.loop": "not audited: does not import: it took more than 4 s; --import-timeout gives it more",
        "hostile.prints:f": "",
        "hostile.syntax": "not audited: does not import: SyntaxError: invalid syntax (syntax.py:1)",
        "hostile.needs": "not audited: does not import: ModuleNotFoundError: No module named 'nosuchmodule' "
        "(needs.py:1)",
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "names"),
    [
        ("spaced/deep", ["spaced.deep.rules:f"]),
        ("spaced/my-rules.py", ["my-rules:f"]),
        ("spaced/dir.py", ["rules:f"]),
    ],
)
def test_packages_without_init_and_files_with_dashes(hostile, monkeypatch, target, names):
    assert list(results(hostile, target, monkeypatch)) == names


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("", "A target is empty"),
        ("spaced/nosuch.py", "There is no file 'spaced/nosuch.py'"),
        ("nosuch/", "There is no file or folder 'nosuch/'"),
        ("spaced/notes.txt", "'spaced/notes.txt' is no Python file"),
        ("hostile.nosuch", "There is no module 'hostile.nosuch'. Give a module, a package, a file or module:object"),
        ("hostile/needs.py", "No module named 'nosuchmodule'. (needs.py:1) Install it first"),
        ("spaced/loose.py", "no known parent package. (loose.py:1) Give the module's name in its package"),
        ("spaced/null.py", "Cannot import 'spaced/null.py': SyntaxError: source code string cannot contain null bytes"),
        ("spaced/pack.age", "'spaced/pack.age' is a package that Python cannot import: rename it without a dot"),
        ("hostile.prints:jax", "'hostile.prints:jax' is no function: it is of type module"),
    ],
)
def test_targets_that_name_nothing(hostile, monkeypatch, target, said):
    monkeypatch.chdir(hostile)
    monkeypatch.setattr(sys, "path", list(sys.path))
    with pytest.raises(UsageError, match=re.escape(said)):
        find(target)


def test_a_target_that_ends_its_process(hostile, monkeypatch):
    monkeypatch.chdir(hostile)
    (failure,) = [e for e in audit_targets(["spaced/leaves.py"]) if isinstance(e, Failure)]
    assert failure.message == "Cannot import 'spaced/leaves.py': it ended the process (exit status 7)."


HOLDERS = """
import jax, jax.numpy as jnp
from functools import partial

def made(c):
    f = jax.custom_vjp(lambda x: c * x)
    f.defvjp(lambda x: (c * x, None), lambda _, g: (c * g,))
    return f

def rule(f):
    out = jax.custom_vjp(f)
    out.defvjp(lambda x: (f(x), x), lambda x, g: jax.vjp(f, x)[1](g))
    return out

BORROWED = {"relu": jax.nn.relu, "relu6": jax.nn.relu6}
act = jax.nn.relu
twice = made(2)
of_jax = rule(jnp.tanh)
table = {"thrice": made(3), "again": twice}
several = [jax.jit(made(4)), 5]

class Layer:
    scale = staticmethod(rule(jnp.sin))

    class Inner:
        scale = partial(rule(lambda x: x**2))

alias = Layer
again = twice
"""


def test_rules_wherever_they_are_held(tmp_path, monkeypatch):
    (tmp_path / "holders.py").write_text(HOLDERS)
    (tmp_path / "holders_user.py").write_text("from holders import *\nfrom holders import twice as two\n")
    monkeypatch.setattr(sys, "path", list(sys.path))
    found = find(str(tmp_path / "holders.py"))
    assert [f.name.partition(":")[2] for f in found.rules] == [
        "Layer.Inner.scale",
        "Layer.scale",
        "of_jax",
        "several[0]",
        "table['thrice']",
        "twice",
    ]
    assert find(str(tmp_path / "holders_user.py")).rules == ()


NESTED = """
import certgrad, jax
from functools import partial

def layer(x, scale):
    @partial(jax.custom_vjp)
    def inner(x):
        return scale * x
    inner.defvjp(lambda x: (inner(x), None), lambda _, g: (scale * g,))
    return inner(x)

@certgrad.declare("n -> n")
def declared(x):
    f = jax.custom_vjp(lambda x: 2 * x)
    f.defvjp(lambda x: (2 * x, None), lambda _, g: (2 * g,))
    return f(x)

class Model:
    def loss(self, x):
        return jax.custom_gradient(lambda x: (x, lambda g: g))(x)

def plain(x):
    return x
"""


def test_rules_that_functions_make(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "nested_rules.py").write_text(NESTED)
    found = find(str(tmp_path / "nested_rules.py")).rules
    assert [(f.name, f.where, bool(f.problem)) for f in found] == [
        ("nested_rules:Model.loss", "nested_rules.py:19", True),
        ("nested_rules:declared", "nested_rules.py:12", False),
        ("nested_rules:layer", "nested_rules.py:5", True),
    ]
    assert "it makes a rule at each call; with certgrad.declare on it" in found[0].problem
    assert examined(found[1], {})[0].certificate.verdict == "proved"


OPS = """
import jax
import jax.numpy as jnp
from certgrad import op

@op("*s -> *s", domain="x > 0")
def xlogx(x):
    return x * jnp.log(x)

@xlogx.jvp
def _(x, dx):
    return (jnp.log(x) + 1) * dx

@xlogx.vjp
def _(x, seed):
    return jnp.log(x) * seed

@op("*s -> *s")
def unfinished(x):
    return x

@op("n -> n")
def asks(x):
    return x * x

@asks.jvp
def _(x, dx):
    return (3 if jax.core.is_constant_dim(x.shape[0]) and x.shape[0] == 4 else 2) * x * dx

@asks.vjp
def _(x, seed):
    return 2 * x * seed

def maker(k):
    made = jax.custom_jvp(lambda x: x * k)
    made.defjvp(lambda p, t: (p[0] * k, t[0] * k))
    return made
"""


@pytest.mark.slow
def test_ops_of_a_file_are_audited_and_every_file_says_what_was_found(tmp_path):
    """A file of ops alone is no longer `nothing to audit`; the last line counts what could not be audited."""
    (tmp_path / "my_ops.py").write_text(OPS)
    (tmp_path / "empty.py").write_text("x = 1\n")
    done = audit(tmp_path, "my_ops.py", "empty.py")
    assert done.returncode == 1
    assert "CG102 my_ops:xlogx.vjp_is_adjoint: refuted (my_ops.py:6)" in done.stdout
    assert "my_ops:asks   jvp vjp fwd  refuted" in done.stdout
    assert "2 of 4 rules: 0 proved, 0 proved under hypotheses, 0 unproved, 2 refuted" in done.stdout
    assert "CG201 my_ops:unfinished (my_ops.py:18): not audited: an op without its jvp or its vjp" in done.stderr
    assert "note: my_ops.py: 4 rules found, 2 audited; left out: maker, unfinished" in done.stderr
    assert "note: no derivative rule in 1 other file" in done.stderr


UNDER = """
import certgrad, jax, jax.numpy as jnp

def rule(k):
    @certgrad.declare("n -> n")
    @jax.custom_vjp
    def f(x):
        return jnp.sin(x)
    f.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (k * g * jnp.cos(x),))
    return f

TABLE = {"sin": [("fast", rule(1)), ("slow", rule(2))]}
"""
GONE = UNDER.partition("TABLE")[0] + "good = rule(1)\nlost = jax.custom_vjp(jnp.sin)\ndel lost\n"


def test_a_package_whose_rules_lie_deep_or_are_lost(tmp_path, monkeypatch):
    """A folder without `__init__.py`, a table three deep, a rule that no name leads to, files that are passed over."""
    for name, text in {
        "deep/__init__.py": "",
        "deep/kernels/table.py": UNDER,
        "deep/kernels/gone.py": GONE,
        "deep/test_table.py": UNDER,
        "deep/conftest.py": "x = 1\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(sys, "path", list(sys.path))
    done = audit(tmp_path, "deep", "--ignore", "CG102", "--strict")
    assert done.returncode == 1, "a rule that was seen and not found is one that is not audited"
    said = " ".join(done.stdout.split())
    assert "deep/kernels/gone.py:13: CG201 deep.kernels.gone:lost: not audited: a rule is made here by the text" in said
    assert "note: deep/kernels/gone.py: 2 rules found, 1 audited; left out: lost" in done.stderr
    assert "note: deep/kernels/table.py: 2 rules found, all audited" in done.stderr
    assert "note: no derivative rule in 1 other file" in done.stderr
    assert "note: 2 files not imported, as tests" in done.stderr
    assert "these make rules, and are audited where they are targets: deep/test_table.py\n" in done.stderr
    monkeypatch.syspath_prepend(tmp_path)
    name = "deep.kernels.table:TABLE['sin'][1][1]"
    (found,) = find(name).rules
    assert found.name == name
    assert examined(found, {}, False)[0].certificate.verdict == "refuted"
