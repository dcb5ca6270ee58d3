"""Rules whose forward and backward are Pallas kernels: right ones are proved at sizes, their wrong twins are not."""

from functools import partial

import jax
import jax.numpy as jnp
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.experimental.pallas import triton as plgpu
from jax.experimental.pallas.ops.gpu import attention, layer_norm, rms_norm
from jax.experimental.pallas.ops.tpu import flash_attention as tpu_flash
from jax.experimental.pallas.ops.tpu.megablox import ops as megablox
from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_kernel as splash
from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_mask as masks

from certgrad import check

from . import kernels as k

pytestmark = pytest.mark.usefixtures("proofs_alone")


def rule(forward, backward):
    f = jax.custom_vjp(forward)
    f.defvjp(lambda *x: (forward(*x), x), backward)
    return f


def softmax(backward):
    def forward(x):
        return k.by_rows(k.softmax, *x.shape, 2)(x)

    return rule(forward, lambda r, g: (k.by_rows(backward, *g.shape, 2)(forward(*r), g),))


def without_sum(y, g, o):
    o[...] = y[...] * g[...]


def product(kernel, turned):
    def times(a, b):
        return k.product(kernel, *a.shape, b.shape[1])(a, b)

    return rule(times, lambda r, g: (times(g, r[1].T), times(turned(r[0]), g)))


def squares(factor):
    def forward(x):
        scratch = [pltpu.VMEM(x.shape[1:], x.dtype)]
        return k.called(k.squares, x.shape[1:], scratch_shapes=scratch)(x)

    return rule(forward, lambda r, g: (factor * r[0] * g,))


def masked(other):
    def forward(x):
        return k.called(partial(k.masked, other=other), x.shape)(x)

    return rule(forward, lambda r, g: (k.called(k.masked_backward, g.shape)(*r, g),))


def streamed(corrected):
    def plain(q, keys, v):
        return jax.nn.softmax(keys @ q) @ v

    def forward(q, keys, v):
        return k.called(partial(k.streamed, corrected=corrected), v.shape[1:])(q, keys, v)

    return rule(forward, lambda r, g: jax.vjp(plain, *r)[1](g))


PAIRS = {
    "softmax, the last block not full": (softmax(k.softmax_backward), softmax(without_sum), "3 2 -> 3 2"),
    "a product accumulated over the grid": (
        product(k.accumulated, jnp.transpose),
        product(k.accumulated, lambda a: a),
        "2 4, 4 2 -> 2 2",
    ),
    "a sum in scratch": (squares(2), squares(1), "3 2 -> 2"),
    "blocks wider than the row": (masked(0.0), masked(1.0), "3 -> 3"),
    "a running maximum": (streamed(True), streamed(False), "2, 2 2, 2 2 -> 2"),
}


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", PAIRS)
def test_right_and_wrong(name):
    right, wrong, signature = PAIRS[name]
    found = check(right, signature)
    assert found.verdict == "proved", found.reason
    notes = {note for claim in found.claims for note in claim.idealisations}
    assert "what compilers make of a Pallas kernel is not looked at" in notes
    assert check(wrong, signature).verdict == "refuted"


@pytest.mark.slow
@pytest.mark.parametrize("signature", ["2*r n -> 2*r n", "2*r 3 -> 2*r 3", "4 n -> 4 n"])
def test_any_number_of_blocks(signature):
    right = check(softmax(k.softmax_backward), signature)
    assert right.verdict == "proved", right.reason
    assert check(softmax(without_sum), signature).verdict == "refuted"


def by_place(x, o):
    o[...] = x[...] * (pl.program_id(0) + 1)


def weighted(backward):
    def forward(x):
        return k.by_rows(by_place, *x.shape, 2)(x)

    return rule(forward, lambda r, g: (backward(g),))


@pytest.mark.slow
def test_the_place_in_a_grid_of_any_extent():
    right = weighted(lambda g: k.by_rows(by_place, *g.shape, 2)(g))
    assert check(right, "2*r n -> 2*r n").verdict == "proved"
    wrong = weighted(lambda g: g * (jnp.arange(g.shape[0]) + 1.0)[:, None])
    assert check(wrong, "2*r n -> 2*r n").verdict == "refuted"


@pytest.mark.slow
def test_sizes_that_are_names_are_proved_at_numbers():
    found = check(squares(2), "r n -> n", sizes={"r": 3, "n": 2})
    assert found.verdict == "proved at sizes"


def test_what_was_never_written_is_no_number():
    assert check(product(k.not_initialised, jnp.transpose), "2 4, 4 2 -> 2 2").verdict in ("unproved", "refuted")


def test_an_order_of_steps_is_listed():
    notes = check(product(k.accumulated, jnp.transpose), "2 4, 4 2 -> 2 2").claims[0].idealisations
    assert "the steps of a Pallas kernel's grid are taken to run one after another" in notes
    alone = check(softmax(k.softmax_backward), "3 2 -> 3 2").claims[0].idealisations
    assert "the steps of a Pallas kernel's grid are taken to run one after another" not in alone


def same_block(x, o):
    o[...] = x[...] * 2


def by_one_block(how):
    spec = pl.BlockSpec((2,), lambda i: (i,))
    fixed = pl.BlockSpec((2,), lambda i: (0,))

    def forward(x):
        return k.called(same_block, (2,), grid=(2,), in_specs=[spec], out_specs=fixed, **how)(x)

    return rule(forward, lambda r, g: (jnp.concatenate([0 * g, 2 * g]),))


@pytest.mark.slow
def test_steps_that_share_a_block():
    """On a TPU the last step's stays; on a GPU any step's may."""
    assert check(by_one_block({}), "4 -> 2").verdict == "proved"
    on_cores = pltpu.CompilerParams(dimension_semantics=("parallel",))
    for how in (plgpu.CompilerParams(num_warps=1), on_cores):
        found = check(by_one_block({"compiler_params": how}), "4 -> 2")
        assert found.verdict == "unproved"
        assert "steps of its grid that run beside each other share a block" in found.reason


def test_a_write_beyond_the_end():
    """The interpret mode drops it; on a GPU it lands somewhere."""

    def wide(x, o):
        at = jnp.arange(4)
        o[...] = x[...] * 2
        plgpu.store(o.at[at], plgpu.load(x.at[at], mask=at < 3, other=0.0) * 2)

    f = rule(lambda x: k.called(wide, x.shape)(x), lambda r, g: (2 * g,))
    assert check(f, "3 -> 3", conformance=False).verdict == "unproved"


@pytest.mark.slow
def test_an_operand_that_is_written_over():
    """In place, block by block, it is as if it were not; where a step reads what another wrote, nothing is said."""

    def in_place(reads):
        specs = [pl.BlockSpec((2,), reads)], pl.BlockSpec((2,), lambda i: (i,))

        def forward(x):
            how = {"grid": (2,), "in_specs": specs[0], "out_specs": specs[1], "input_output_aliases": {0: 0}}
            return k.called(same_block, (4,), **how)(x)

        return rule(forward, lambda r, g: (2 * (g if reads(0) == (0,) else jnp.roll(g, 2)),))

    assert check(in_place(lambda i: (i,)), "4 -> 4").verdict == "proved"
    found = check(in_place(lambda i: (1 - i,)), "4 -> 4")
    assert found.verdict == "unproved"
    assert "an operand that may be read after an output was written over it" in found.reason


# --- JAX's own kernels


def normalised(f):
    return lambda x, w, b: f(x, w, b, None, 3, 1e-5, "triton", True)


def planted(monkeypatch, module, name, old, new):
    """The module's kernel with a piece of its source replaced."""
    import inspect

    source = inspect.getsource(getattr(module, name))
    assert source.count(old) == 1
    scope = vars(module).copy()
    exec(compile(source.replace(old, new), module.__file__, "exec"), scope)
    monkeypatch.setattr(module, name, scope[name])
    jax.clear_caches()  # of kernels under `jit`, traced before


@pytest.mark.slow
def test_layer_norm_of_jax(monkeypatch):
    f = normalised(layer_norm.layer_norm)
    assert check(f, "1 2 3, 3, 3 -> 1 2 3").verdict == "proved"
    planted(monkeypatch, layer_norm, "layer_norm_backward_kernel_dx", "(a_hat * mean1 + mean2)", "(a_hat * mean1)")
    assert check(f, "1 2 3, 3, 3 -> 1 2 3").verdict == "refuted"


@pytest.mark.slow
def test_rms_norm_of_jax(monkeypatch):
    f = normalised(rms_norm.rms_norm)
    assert check(f, "1 2 3, 3, 3 -> 1 2 3").verdict == "proved"
    planted(monkeypatch, rms_norm, "rms_norm_backward_kernel_dw_db", "(dout * a_hat).sum(axis=0)", "(dout * a).sum(0)")
    assert check(f, "1 2 3, 3, 3 -> 1 2 3").verdict == "refuted"


@pytest.mark.slow
def test_flash_attention_of_jax(monkeypatch):
    sizes = attention.BlockSizes(**dict.fromkeys(attention.BlockSizes.get_default().__dataclass_fields__, 2))

    def f(q, keys, v):
        return attention.mha(q, keys, v, None, 1.0, False, sizes, "triton", None, 2, None, True)

    signature = "1 4 1 2, 1 4 1 2, 1 4 1 2 -> 1 4 1 2"
    assert check(f, signature).verdict == "proved up to rounding"
    planted(
        monkeypatch,
        attention,
        "mha_backward_kernel",
        "dp = jnp.zeros((block_q_dq, block_kv_dq), dtype=jnp.float32) - di[:, None]",
        "dp = jnp.zeros((block_q_dq, block_kv_dq), dtype=jnp.float32) + di[:, None]",
    )
    assert check(f, signature).verdict == "refuted"


def in_blocks_of_two(kind, **others):
    """A kernel's sizes of blocks, all 2 but for these."""
    return kind(**{**dict.fromkeys(kind.__dataclass_fields__, 2), **others})


def in_small_registers(monkeypatch, module, *names):
    """As if a TPU's registers had rows of two numbers, of which the kernels for it ask for whole ones."""
    for name in ("NUM_LANES", "NUM_SUBLANES", *names):
        monkeypatch.setattr(module, name, 2)
    jax.clear_caches()


@pytest.mark.slow
@pytest.mark.parametrize("causal", [False, True])
def test_flash_attention_of_jax_for_tpus(monkeypatch, causal):
    in_small_registers(monkeypatch, tpu_flash, "MIN_BLOCK_SIZE")
    sizes = in_blocks_of_two(tpu_flash.BlockSizes, block_b=1)

    def f(q, keys, v):
        return tpu_flash.flash_attention(q, keys, v, causal=causal, block_sizes=sizes)

    signature = "1 1 4 2, 1 1 4 2, 1 1 4 2 -> 1 1 4 2"
    assert check(f, signature).verdict == "proved"
    kernel = "_flash_attention_dkv_kernel" if causal else "_flash_attention_dq_kernel"
    old = "ds = (dp - jnp.tile(di, (1, block_k // MIN_BLOCK_SIZE))) * p"
    planted(monkeypatch, tpu_flash, kernel, old, "ds = dp * p")
    assert check(f, signature).verdict == "refuted"


def splashed(mask, fused, **options):
    """JAX's splash attention, of which the index maps read which blocks come next from arrays that are prefetched."""
    others = {"use_fused_bwd_kernel": fused, **({"block_q_dq": None, "block_kv_dq": None} if fused else {})}
    layouts = dict.fromkeys(("q_layout", "k_layout", "v_layout"), splash.QKVLayout.HEAD_DIM_MINOR)
    sizes = in_blocks_of_two(splash.BlockSizes, **others, **layouts)
    kernel = splash.make_splash_mha_single_device(
        masks.MultiHeadMask([mask]), block_sizes=sizes, interpret=True, **options
    )
    return lambda q, keys, v: kernel(q, keys, v)


SPLASHED = "1 4 2, 1 4 2, 1 4 2 -> 1 4 2"


@pytest.mark.slow
@pytest.mark.parametrize("fused", [False, True])
def test_splash_attention_of_jax(monkeypatch, fused):
    in_small_registers(monkeypatch, splash)
    assert check(splashed(masks.FullMask((4, 4)), fused), SPLASHED).verdict == "proved"
    causal = masks.CausalMask((4, 4))
    assert check(splashed(causal, fused, mask_value=-jnp.inf), SPLASHED).verdict == "proved under hypotheses"
    # A mask of −2·10³⁸ is a number: over ℝ its exponential is not 0, and the backward is off by that.
    assert check(splashed(causal, fused), SPLASHED).verdict not in ("proved", "proved under hypotheses")


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["_flash_attention_dq_kernel", "_flash_attention_dkv_kernel"])
def test_splash_attention_of_jax_with_a_mistake(monkeypatch, kernel):
    in_small_registers(monkeypatch, splash)
    planted(monkeypatch, splash, kernel, "ds = (dp - di) * p", "ds = dp * p")
    assert check(splashed(masks.FullMask((4, 4)), False), SPLASHED).verdict == "refuted"


@pytest.mark.slow
def test_the_reference_of_jax_for_flash_attention():
    f = partial(tpu_flash.mha_reference, ab=None)
    assert check(f, "b h n d, b h m d, b h m d -> b h n d").verdict == "proved"


# --- operands that are prefetched for the index maps


def by_order(order, step):
    """A kernel that works on the rows of x in an order that stands in an array."""

    def kernel(where, x, o):
        o[...] = step(x[...], where[pl.program_id(0)])

    def forward(x):
        spec = pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(x.shape[0],),
            in_specs=[pl.BlockSpec((1, x.shape[1]), lambda i, where: (where[i], 0))],
            out_specs=pl.BlockSpec((1, x.shape[1]), lambda i, where: (i, 0)),
        )
        out = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return pl.pallas_call(kernel, grid_spec=spec, out_shape=out, interpret=True)(jnp.array(order), x)

    return forward


ORDER, BACK = [2, 0, 1], [1, 2, 0]


def ordered(backward):
    f = jax.custom_vjp(by_order(ORDER, lambda x, k: x * x * (k + 1)))
    f.defvjp(lambda x: (f(x), x), backward)
    return f


@pytest.mark.slow
def test_blocks_at_places_that_are_prefetched():
    def right(x, g):
        return (by_order(BACK, lambda y, k: y)(g * 2 * x[jnp.array(ORDER)] * (jnp.array(ORDER) + 1.0)[:, None]),)

    def turned(x, g):
        return (by_order(ORDER, lambda y, k: y)(g * 2 * x[jnp.array(ORDER)] * (jnp.array(ORDER) + 1.0)[:, None]),)

    found = check(ordered(right), "3 2 -> 3 2")
    assert found.verdict == "proved", found.reason
    assert check(ordered(turned), "3 2 -> 3 2").verdict == "refuted"


@pytest.mark.slow
def test_a_block_beyond_the_array_is_no_number():
    """The interpret mode moves it back; on a TPU it lies somewhere else."""
    f = jax.custom_vjp(by_order([0, 3, 1], lambda x, k: x))
    f.defvjp(lambda x: (f(x), x), lambda x, g: (jnp.stack([g[0], g[2], g[1]]),))
    assert check(f, "3 2 -> 3 2", conformance=False).verdict == "unproved"


@pytest.mark.slow
def test_where_outputs_go_is_no_matter_of_prefetched_numbers():
    def kernel(where, x, o):
        o[...] = x[...]

    def forward(x):
        spec = pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(3,),
            in_specs=[pl.BlockSpec((1, 2), lambda i, where: (i, 0))],
            out_specs=pl.BlockSpec((1, 2), lambda i, where: (where[i], 0)),
        )
        out = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return pl.pallas_call(kernel, grid_spec=spec, out_shape=out, interpret=True)(jnp.array([0, 0, 1]), x)

    found = check(rule(forward, lambda r, g: (g,)), "3 2 -> 3 2", conformance=False)
    assert found.verdict == "unproved"
    assert "blocks at places that are computed" in found.reason


def test_grouped_products_of_jax_are_not_read():
    """How many tiles there are is computed from the sizes of the groups: no grid is known."""
    sizes = jnp.array([1, 3], jnp.int32)

    def f(a, b):
        return megablox.gmm(a, b, sizes, jnp.float32, (2, 2, 2), None, None, False, True)

    found = check(f, "4 2, 2 2 2 -> 4 2", conformance=False)
    assert found.verdict == "unproved"
