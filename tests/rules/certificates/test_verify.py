"""The second check of certificates of rules in code: against the code that is there, with the cases that a rule has."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import pytest

from certgrad.obligations.certificate import Certificate, sealed
from certgrad.report.audited import RuleResult
from certgrad.rules.certificates.exactly import with_level
from certgrad.rules.certificates.verify import verify_rule
from certgrad.rules.finding.find import FoundRule, find
from certgrad.rules.judging.by_name import examined
from tests.cli.test_process import run

RULES = """
import jax, jax.numpy as jnp, math
from functools import partial
import certgrad

@certgrad.declare("n d")
@partial(jax.custom_vjp, nondiff_argnums=(1,))
def total(x, keep: bool = False):
    return jnp.sum(x * x, axis=-1, keepdims=keep)

total.defvjp(lambda x, keep: (total(x, keep), x), lambda keep, x, g: (2 * x * (g if keep else g[:, None]),))

@certgrad.declare("n, n -> n", static={"p": certgrad.each(2, 3)})
@partial(jax.custom_vjp, nondiff_argnums=(2,))
def power(x, c, p):
    return c * x**p

power.defvjp(
    lambda x, c, p: (c * x**p, (x, c)), lambda p, r, g: (g * r[1] * p * r[0] ** (p - 1), g * r[0] ** p)
)

@certgrad.declare("n -> n", static={"a": certgrad.real("a > 0")})
@partial(jax.custom_vjp, nondiff_argnums=(1,))
def scaled(x, a):
    return x / a

scaled.defvjp(lambda x, a: (x / a, None), lambda a, _, g: (g / a,))

@certgrad.declare("m, n, n:int -> m", domain=["i >= 0", "i < m"])
@jax.custom_vjp
def written(x, u, i):
    return x.at[i].set(u)

def written_bwd(i, g):
    k = jnp.arange(i.shape[0])
    counts = jnp.full(g.shape, -1, k.dtype).at[i].set(k)[i] == k
    return g.at[i].set(0.0), jnp.where(counts, g[i], 0.0), None

written.defvjp(lambda x, u, i: (written(x, u, i), i), written_bwd)

@certgrad.declare("n d, d")
@jax.custom_vjp
def held(x, w):
    return x * w

held.defvjp(lambda x, w: (x * w, w), lambda w, g: (g * w, None))

@certgrad.declare("n d -> n d")
@jax.custom_vjp
def by_root(x):
    return x * x.shape[-1] ** -0.5

by_root.defvjp(lambda x: (by_root(x), x), lambda x, g: (g / math.sqrt(x.shape[-1]),))

@certgrad.declare("n:complex -> n")
@jax.custom_vjp
def modulus(z):
    return z.real**2 + z.imag**2

modulus.defvjp(lambda z: (modulus(z), z), lambda z, g: (2 * g * z.conj(),))

@certgrad.declare("n c -> n c")
@jax.custom_vjp
def halved(x):
    y = x.reshape(x.shape[0], 2, -1)
    return (y - y.mean(1, keepdims=True)).reshape(x.shape)

halved.defvjp(lambda x: (halved(x), None), lambda _, g: (halved(g),))

def logarithm(x):
    return jnp.log(x)

logarithm = certgrad.declare("n")(logarithm)
"""


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> dict[str, FoundRule]:
    file = tmp_path_factory.mktemp("verified") / "verified_rules.py"
    file.write_text(RULES)
    before = list(sys.path)
    found = {f.name.partition(":")[2]: f for f in find(str(file)).rules}
    sys.path[:] = before
    return found


def certificate_of(found: FoundRule) -> Certificate:
    certificate = examined(found, {}, False)[0].certificate
    assert certificate is not None
    return certificate


@pytest.mark.one_in(6)
@pytest.mark.parametrize(
    "name", ["total", "power", "scaled", "held", "by_root", "modulus", "halved", "logarithm", "written"]
)
def test_what_is_proved_is_verified(rules: dict[str, FoundRule], name: str) -> None:
    certificate = certificate_of(rules[name])
    checked = verify_rule(certificate, rules[name])
    assert (checked.outcome, checked.problems) == ("verified", ())
    assert checked.cases == len(certificate.traced)
    assert checked.points > 0


def test_a_certificate_of_other_code_or_of_another_claim_fails(rules: dict[str, FoundRule]) -> None:
    certificate = certificate_of(rules["power"])
    edited = msgspec.structs.replace(certificate, op="verified_rules:scaled")
    assert verify_rule(edited, rules["scaled"]).outcome == "failed"
    traced = [msgspec.structs.replace(one, digest="0" * 64) for one in certificate.traced]
    other = verify_rule(sealed(msgspec.structs.replace(certificate, traced=traced)), rules["power"])
    assert other.outcome == "failed"
    assert "traces to another program" in other.problems[0]


@pytest.mark.parametrize("name", ["logarithm", "halved"])
def test_a_hypothesis_that_was_taken_out_is_missed(rules: dict[str, FoundRule], name: str) -> None:
    certificate = certificate_of(rules[name])
    assert certificate.verdict == "proved under hypotheses"
    change = msgspec.structs.replace
    claims = [
        change(
            claim,
            verdict="proved",
            hypotheses=[],
            statement=claim.statement.partition(" such that")[0],
            cases=[change(case, verdict="proved", hypotheses=[]) for case in claim.cases],
        )
        for claim in certificate.claims
    ]
    forged = sealed(change(certificate, verdict="proved", claims=claims))
    assert verify_rule(forged, rules[name]).outcome == "failed"


SIZED = """
import jax, jax.numpy as jnp, certgrad

def rule(backward):
    one = jax.custom_vjp(jnp.sin)
    one.defvjp(lambda x: (jnp.sin(x), x), backward)
    return certgrad.declare("n -> n")(one)

plain = rule(lambda x, g: (g * jnp.cos(x),))
asking = rule(lambda x, g: (jnp.cos(x) * g if x.shape[0] == 77 else g * jnp.cos(x),))
shifted = rule(lambda x, g: (g * jnp.cos(jnp.roll(jnp.roll(x, 1), -1)),))
"""


def test_for_all_sizes_is_said_of_code_that_runs_one_program(tmp_path: Path) -> None:
    """Of code that runs another one at a size, which is as right, it is not: exact evaluation did not look there."""
    (file := tmp_path / "sized_rules.py").write_text(SIZED)
    found = {f.name.partition(":")[2]: f for f in find(str(file)).rules}
    levels = {}
    for name, one in found.items():
        certificate = certificate_of(one)
        assert certificate.verdict == "proved"
        levels[name] = with_level(RuleResult(name=one.name, certificate=certificate), lambda _, one=one: one).level
        checked = verify_rule(certificate, one)
        assert (checked.outcome, checked.level, checked.exact) == ("verified", levels[name], True)
    assert levels["plain"] == "exact for all sizes"
    assert levels["asking"].startswith("exact at sizes ≤")
    assert levels["shifted"].startswith("exact at sizes ≤")


EDITED = """
import jax, jax.numpy as jnp, certgrad

CALLS = []

@certgrad.declare("n d -> n d")
@jax.custom_vjp
def square(x):
    return x * x

def bwd(x, g):
    factor = {}
    return (factor * x * g,)

square.defvjp(lambda x: (square(x), x), bwd)
"""


def of_text(folder: Path, text: str) -> FoundRule:
    file = folder / "edited_rules.py"
    file.write_text(text)
    sys.modules.pop("edited_rules", None)
    before = list(sys.path)
    (found,) = find(str(file)).rules
    sys.path[:] = before
    return found


@pytest.mark.one_in(5)
@pytest.mark.parametrize(
    ("factor", "outcome", "said"),
    [
        ("2.0", "verified", ""),
        ("float(2)", "verified", ""),
        ("2.0 if x.shape[0] != 9 else 4.0 / 2.0", "verified", ""),
        ("2.0 if x.shape[0] != 9 else 1.0", "failed", "n = 9"),
        ("1.0 if x.shape[1] in (64, 65) else 2.0", "failed", "d = 64; d = 65"),
        ("1.0 if x.shape[0] % 128 == 0 else 2.0", "failed", "n = 128*n"),
        ("1.0 if x.shape[0] == x.shape[1] + 7 else 2.0", "failed", "n = 1*d+7"),
        ("{9: 1.0}.get(x.shape[0], 2.0)", "failed", "looked up in a dictionary"),
        ("1.0 if x.dtype == jnp.bfloat16 else 2.0", "failed", "the code can be claimed for all shapes, float32 and"),
        ("1.0 if x.dtype.itemsize == 2 else 2.0", "failed", "branches on a dtype"),
        ("1.0 if x.dtype == jnp.float32 else 2.0", "failed", "traces to other programs"),
        ("CALLS.append(1) or (1.0 if len(CALLS) > 40 else 2.0)", "failed", "changes CALLS"),
        ("2.0 if isinstance(x, jax.core.Tracer) else 1.0", "failed", "asks whether a value is traced"),
    ],
)
def test_an_edit_that_an_audit_hears_of_is_not_verified(tmp_path: Path, factor: str, outcome: str, said: str) -> None:
    certificate = certificate_of(of_text(tmp_path, EDITED.format("2.0")))
    assert certificate.verdict == "proved"
    (tmp_path / "now").mkdir()
    checked = verify_rule(certificate, of_text(tmp_path / "now", EDITED.replace("{}", factor)))
    assert checked.outcome == outcome, checked.problems
    assert said in " ".join(checked.problems)


COMPOSED = """
import jax.numpy as jnp
from certgrad.ops._composed import composed
from certgrad.ops._registry import Registry

CALLS = []

@composed("n d -> n d", registry=Registry())
def twice(x):
    \"\"\"Twice the tanh.\"\"\"
    factor = {}
    return factor * jnp.tanh(x)
"""


@pytest.mark.parametrize(
    ("factor", "outcome", "said"),
    [
        ("2.0", "verified", ""),
        ("2.0 if x.shape[0] != 9 else 1.0", "failed", "where n = 9, the function is another program"),
        ("CALLS.append(1) or 2.0", "failed", "changes CALLS"),
    ],
)
def test_an_edit_of_a_composed_op(tmp_path: Path, factor: str, outcome: str, said: str) -> None:
    certificate = certificate_of(of_text(tmp_path, COMPOSED.format("2.0")))
    (tmp_path / "now").mkdir()
    checked = verify_rule(certificate, of_text(tmp_path / "now", COMPOSED.replace("{}", factor)))
    assert checked.outcome == outcome, checked.problems
    assert said in " ".join(checked.problems)


AUDIT = b'{"format": 1, "certgrad": "0", "rules": [], "remarks": [], "problems": [], "certificates": [%s]}'


@pytest.mark.slow
def test_the_command_reads_an_audit_and_asks_for_the_code(tmp_path: Path, rules: dict[str, FoundRule]) -> None:
    from certgrad.report import json

    source = str(Path(rules["power"].file))
    certificates = [certificate_of(rules[name]) for name in ("power", "by_root")]
    document = tmp_path / "audit.json"
    document.write_bytes(AUDIT % b",".join(map(json.encode, certificates)))
    asked = run("verify", str(document))
    assert asked.returncode == 2
    assert "this is the certificate of the rule verified_rules:power. Name the code" in asked.stderr
    assert "--target verified_rules" in asked.stderr
    done = run("verify", str(document), "--target", source)
    assert done.returncode == 0, done.stderr
    assert "2 certificates: 2 verified" in done.stdout
    document.write_bytes(AUDIT % b'{"op": 3}')
    broken = run("verify", str(document), "--target", source)
    assert broken.returncode == 2
    assert "this is not a whole audit" in broken.stderr
