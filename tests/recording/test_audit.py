"""Audits of what was called, without a declaration."""

from functools import wraps
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import pytest

from certgrad.recording import Notes, audited, noticed, save
from certgrad.recording._audit import CHANGED_DURING_RUN, _also_joined, placed_rules
from certgrad.rules.declared.declaration import Declaration
from certgrad.rules.finding.find import find
from certgrad.rules.judging.by_name import examined
from certgrad.rules.project.configuration import nearest
from tests.recording import kept, rules


def recorded(work, **options):
    notes = Notes()
    with noticed(notes.note):
        work()
    # What was not called comes last, and is looked for in every module that the process has loaded: a second.
    called = islice(audited(notes, **{"conformance": False, **options}), len(list(placed_rules(notes.rules.values()))))
    return {one.result.name.partition(":")[2]: one for one in called}  # other modules may have rules of these names


def verdict(one):
    return one.result.certificate.verdict


def remarks(one):
    return [(r.code, r.text) for r in one.result.remarks]


def test_shapes_static_values_and_pytrees_need_no_declaration():
    def work():
        rules.square(jnp.ones((2, 3)))
        rules.power(2.0, 3)
        rules.power(2.0, 2)
        rules.affine({"w": jnp.ones((3, 4)), "b": jnp.ones(4)}, jnp.ones((2, 3)))

    found = recorded(work)
    assert {name: verdict(one) for name, one in found.items()} == dict.fromkeys(["affine", "power", "square"], "proved")
    notes = [one.result.notes for one in found.values()]
    assert notes[0] == ['called once; audited as "{b: n, w: d n}, m d"']
    assert notes[1] == ['called 2 times; audited as "", k = 3 or 2']
    assert not any(map(remarks, found.values()))


def test_a_rule_made_in_a_function_is_one_and_its_worst_case_counts():
    def work():
        rules.make(0)(jnp.ones((2, 3)))
        rules.make(1)(jnp.ones((2, 3)))
        rules.make(0, 3.0)(jnp.ones((2, 3)))

    (found,) = recorded(work).values()
    assert found.result.name == "tests.recording.rules:make.<locals>.total"
    assert verdict(found) == "refuted"
    assert found.called == 3
    assert found.result.notes == [
        'also audited as "n d": proved',
        'called 3 times, with 3 choices of what it closes over; audited as "n d"',
    ]
    assert found.unsaved == "it is made inside a function, where no name leads to it"


def test_rules_that_a_factory_made_and_modules_keep_are_rules_of_their_own():
    def work():
        kept.total(jnp.ones((2, 3)))
        kept.tripled(jnp.ones((2, 3)))
        rules.make(1)(jnp.ones((2, 3)))
        kept.square(2.0)

    found = recorded(work)
    assert {one.result.name: verdict(one) for one in found.values()} == {
        "tests.recording.kept:total": "proved",
        "tests.recording.kept:tripled": "refuted",
        "tests.recording.rules:make.<locals>.total": "proved",
        "tests.recording.rules:square": "proved",
    }
    assert not found["total"].unsaved


def test_what_cannot_be_audited_has_a_reason():
    def work():
        rules.never(jnp.ones(3, jnp.int4))
        rules.square(jnp.ones((0, 3)))
        jax.jit(lambda k: rules.power(jnp.ones(2), k))(jnp.ones(2))

    found = recorded(work)
    assert {name: remarks(one) for name, one in found.items()} == {
        "never": [("CG201", "not audited: one of its arguments is an array of int4, which a signature cannot say")],
        "power": [
            ("CG201", "not audited: its argument k, which it takes as it is, was a traced value (float32[2])"),
        ],
        "square": [("CG201", "not audited: calls with empty arrays: sizes are at least 1")],
    }


def test_an_object_in_the_midst_of_arrays_is_a_reason():
    eqx = pytest.importorskip("equinox")

    @eqx.filter_custom_jvp
    def applied(pair):
        return pair[1](pair[0])

    @applied.def_jvp
    def rule(primals, tangents):
        return jax.jvp(primals[0][1], (primals[0][0],), (tangents[0][0],))

    (found,) = recorded(lambda: applied((jnp.ones(3), jnp.sin))).values()
    ((code, text),) = remarks(found)
    assert code == "CG201"
    assert text.startswith("not audited: an argument holds arrays and an object of class ")


def test_a_rule_of_equinox_is_met_where_a_type_checker_decorates_equinox():
    eqx = pytest.importorskip("equinox")

    @eqx.filter_custom_jvp
    def double(x):
        return 2 * x

    inside = double.fn.fun
    double.fn = jax.custom_jvp(wraps(inside)(lambda *args: inside(*args)), nondiff_argnums=(0,))
    double.def_jvp(lambda primals, tangents: (2 * primals[0], 2 * tangents[0]))
    (found,) = recorded(lambda: double(jnp.ones(3))).values()
    assert found.result.name.endswith("<locals>.double")


def test_a_static_value_is_shown_in_short():
    def work():
        rules.weighted({"c": 1.0, "about": "a" * 1000}, jnp.ones(3))
        rules.weighted({"c": 1.0, "about": "a" * 2000}, jnp.ones(3))

    (found,) = recorded(work).values()
    assert len(found.declarations) == 2
    assert all(len(note) < 300 for note in found.result.notes)


@pytest.mark.parametrize("key", [jax.random.key, jax.random.PRNGKey])
def test_a_random_key_is_an_argument(key):
    (found,) = recorded(lambda: rules.dropout(jnp.ones(3), key(0))).values()
    assert verdict(found) == "proved"


def test_calls_that_are_left_out_beside_a_proof_are_named():
    def work():
        rules.square(jnp.ones(3))
        rules.square(jnp.ones(3, jnp.int4))

    (found,) = recorded(work).values()
    assert verdict(found) == "proved"
    assert remarks(found) == [
        (
            "CG204",
            "no claim is made about some calls: one of its arguments is an array of int4, which a signature cannot say",
        )
    ]


def test_calls_in_a_dtype_that_the_claim_is_not_about_are_named():
    @jax.custom_vjp
    def sine(x):
        return jnp.sin(x)

    sine.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: ((2.0 if x.dtype == jnp.bfloat16 else 1.0) * g * jnp.cos(x),))
    (in_float32,) = recorded(lambda: sine(jnp.ones(3))).values()
    assert verdict(in_float32) == "proved"
    assert remarks(in_float32) == []
    (in_both,) = recorded(lambda: (sine(jnp.ones(3)), sine(jnp.ones(3, jnp.bfloat16)))).values()
    ((code, text),) = remarks(in_both)
    assert code == "CG204"
    assert "they are in bfloat16, and the claim is about float32 and float64 (" in text


def test_calls_in_float32_while_jax_computes_in_64_bits_are_named():
    @jax.custom_vjp
    def drop(x, key):
        return jnp.where(jax.random.uniform(key, x.shape, x.dtype) < 0.75, x, 0)

    def backward(residuals, g):
        key, _ = residuals
        return jnp.where(jax.random.uniform(key, g.shape) < 0.75, g, 0), None  # in the default dtype

    drop.defvjp(lambda x, key: (drop(x, key), (key, x)), backward)

    def work():
        with jax.enable_x64(True):
            drop(jnp.ones(3, jnp.float32), jax.random.key(0))

    (found,) = recorded(work, conformance=True).values()
    assert verdict(found) == "proved"
    assert "in float32 while JAX computes in 64 bits" in remarks(found)[0][1]


FACTOR = 2.0


@jax.custom_vjp
def by_setting(x):
    return x * x


by_setting.defvjp(lambda x: (x * x, x), lambda x, g: (FACTOR * x * g,))


def test_what_changed_after_a_call_is_no_longer_what_was_called(monkeypatch: pytest.MonkeyPatch):
    """A setting of the module, a closed-over list, and the rule itself; one of which nothing changes has no remark."""
    factors = [3.0]

    @jax.custom_vjp
    def by_list(x):
        return x * x

    @jax.custom_vjp
    def redefined(x):
        return x * x

    by_list.defvjp(lambda x: (x * x, x), lambda x, g: (factors[0] * x * g,))
    redefined.defvjp(lambda x: (x * x, x), lambda x, g: (3 * x * g,))

    def work():
        monkeypatch.setattr(f"{__name__}.FACTOR", 3.0)
        for rule in (by_setting, by_list, redefined, rules.square):
            rule(jnp.ones(3))
        monkeypatch.setattr(f"{__name__}.FACTOR", 2.0)
        factors[0] = 2.0
        redefined.defvjp(lambda x: (x * x, x), lambda x, g: (2 * x * g,))

    changed = {
        name for name, one in recorded(work).items() if any(CHANGED_DURING_RUN in text for _, text in remarks(one))
    }
    assert {name.rpartition(".")[2] for name in changed} == {"by_setting", "by_list", "redefined"}


def test_calls_with_complex_arrays_are_audited():
    (found,) = recorded(lambda: rules.square(jnp.ones(3, complex))).values()
    assert verdict(found) == "proved"
    assert "".join(found.declarations[0].signature) == "n:complex64"


def test_sizes_that_agree_are_joined_where_they_must(monkeypatch):
    @jax.custom_vjp
    def trace(x):
        return jnp.trace(x)

    trace.defvjp(lambda x: (trace(x), x), lambda x, g: (g * jnp.eye(x.shape[0]),))
    (found,) = recorded(lambda: trace(jnp.ones((3, 3)))).values()
    assert verdict(found) == "proved"
    assert 'audited as "n n"' in found.result.notes[-1]


def test_a_number_that_stays_one_is_not_taken_for_every_size():
    """The rule runs at powers of 2: what is proved at the one that was called says so, and for all rows."""
    (right,) = recorded(lambda: rules.of_two(jnp.ones((3, 8)))).values()
    (wrong,) = recorded(lambda: rules.of_two_wrong(jnp.ones((3, 8)))).values()
    certificate = right.result.certificate
    assert (certificate.verdict, certificate.sizes) == ("proved at sizes", [{"axis 1 of array 1": 8}])
    assert certificate.signature == ["n 8 -> "]
    assert verdict(wrong) == "refuted"


def test_an_audit_that_takes_too_long_is_left_out():
    (found,) = recorded(
        lambda: rules.affine({"w": jnp.ones((3, 4)), "b": jnp.ones(4)}, jnp.ones((2, 3))), seconds=0.001
    ).values()
    assert remarks(found) == [("CG201", "not audited: its audit took more than 0.001 s, and --seconds gives it more")]


def test_rules_that_are_there_and_were_not_called_are_listed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(Path(__file__).parent)  # what is below it is the user's: of a test run, a few modules and not all
    notes = Notes()
    with noticed(notes.note):
        rules.square(1.0)
    left = {one.result.name: remarks(one) for one in audited(notes, conformance=False) if not one.called}
    (text,) = left["tests.recording.rules:never"]
    assert text == ("CG201", "not audited: it was not called in this run; `certgrad audit` looks at it without one")


def test_declarations_are_saved_and_read_by_the_next_audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def work():
        rules.power(jnp.ones((2, 3)), 3)
        rules.power(2.0, 2)
        rules.weighted({"c": 1.0}, jnp.ones(3))
        rules.make(0)(jnp.ones((2, 3)))

    found = recorded(work)
    file = tmp_path / "certgrad-recorded.toml"
    count, left = save(file, found.values())
    assert count == 1
    assert [text.partition(": ")[2] for text in left] == [
        "not saved: it is made inside a function, where no name leads to it",
        "not saved at \"n\", options = {'c': 1.0}: options is of type dict, which the file cannot say",
    ]
    (tmp_path / "pyproject.toml").write_text("")
    said = nearest(tmp_path).declarations
    assert [d.signature for d in said["tests.recording.rules:power"]] == ["n d", ""]
    (rule,) = find("tests.recording.rules:power").rules
    result, _ = examined(rule, said, conformance=False)
    assert result.certificate is not None
    assert result.certificate.verdict == "proved"
    assert not result.remarks


@pytest.mark.parametrize(("sizes", "skipped"), [({"n": 2, "m": 2}, True), ({"n": 2, "m": 3}, False)])
def test_a_witness_at_sizes_that_agree_is_one_with_these_joined(sizes, skipped):
    """The second audit would come to the same; where the sizes differ it may be right."""
    report = SimpleNamespace(witness=SimpleNamespace(dims=sizes))
    claim = SimpleNamespace(apart=Declaration("n, m -> "), joined=Declaration("n, n -> "))
    assert _also_joined(report, claim) is skipped
    assert not _also_joined(SimpleNamespace(witness=None), claim)
