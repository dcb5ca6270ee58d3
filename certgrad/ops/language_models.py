"""A language model's loss, composed: embedding, a block, logits, cross-entropy."""

from certgrad.ops._composed import composed
from certgrad.ops.arithmetic import add
from certgrad.ops.contractions import einsum
from certgrad.ops.embeddings import embedding
from certgrad.ops.losses_distribution import cross_entropy_labels
from certgrad.ops.normalization import layer_norm
from certgrad.ops.transformers import pre_norm_block

_BLOCK = "h c d, h c d, h c e, h e c, c, c, f c, f, c f, c, c, c"


@composed(
    f"b n:int, b n:int, v c, n c, {_BLOCK}, c, c -> ",
    source="Radford et al. 2019 (GPT-2) with one block; the table of embeddings makes the logits as well",
)
def language_model_loss(
    tokens, labels, table, positions, w_q, w_k, w_v, w_o, gamma_1, beta_1, weight_1, bias_1, weight_2, bias_2, gamma_2,
    beta_2, gamma, beta,
):  # fmt: skip
    """The mean cross-entropy of a transformer with one causal block; negative labels are left out."""
    batch = embedding(tokens, table)
    x = add(batch, positions)
    x = pre_norm_block(
        x, w_q, w_k, w_v, w_o, gamma_1, beta_1, weight_1, bias_1, weight_2, bias_2, gamma_2, beta_2, is_causal=True
    )
    return cross_entropy_labels(einsum("bnc,vc->bnv", layer_norm(x, gamma, beta), table), labels)
