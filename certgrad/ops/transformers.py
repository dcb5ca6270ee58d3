"""Transformer blocks, composed: attention and feed-forward sublayers, each with a residual and a layer norm."""

from certgrad.ops._composed import composed
from certgrad.ops._declare import case
from certgrad.ops.activations_piecewise import relu
from certgrad.ops.arithmetic import add
from certgrad.ops.attention_layers import multi_head_self_attention
from certgrad.ops.gelu import gelu_tanh
from certgrad.ops.matrix import linear
from certgrad.ops.normalization import layer_norm

_ATTENTION = "h c d, h c d, h c e, h e c"
_NORM = "c, c"
_FEED_FORWARD = "f c, f, c f, c"
_POST = "Vaswani et al. 2017: the norm after the residual, as torch.nn.TransformerEncoderLayer has it"
_PRE = "Radford et al. 2019 (GPT-2): the norm before the sublayer; norm_first=True in torch.nn.TransformerEncoderLayer"


def _causal_or_not(signature):
    return case(signature, is_causal=False), case(signature, is_causal=True)


@composed(
    case(f"b n c, {_FEED_FORWARD} -> b n c", activation="relu"),
    case(f"b n c, {_FEED_FORWARD} -> b n c", activation="gelu"),
    source="Vaswani et al. 2017 with relu; Radford et al. 2019 with gelu, in its tanh form",
)
def feed_forward(x, weight_1, bias_1, weight_2, bias_2, *, activation="relu"):
    """The same perceptron at every position: linear, relu or gelu, linear."""
    hidden = linear(x, weight_1, bias_1)
    return linear(relu(hidden) if activation == "relu" else gelu_tanh(hidden), weight_2, bias_2)


@composed(*_causal_or_not(f"b n c, {_ATTENTION}, {_NORM} -> b n c"), source=_POST)
def post_norm_attention(x, w_q, w_k, w_v, w_o, gamma, beta, *, is_causal=False):
    """The attention sublayer: layer_norm(x + multi_head_self_attention(x))."""
    return layer_norm(add(x, multi_head_self_attention(x, w_q, w_k, w_v, w_o, is_causal=is_causal)), gamma, beta)


@composed(f"b n c, {_FEED_FORWARD}, {_NORM} -> b n c", source=_POST)
def post_norm_feed_forward(x, weight_1, bias_1, weight_2, bias_2, gamma, beta):
    """The feed-forward sublayer: layer_norm(x + feed_forward(x)), with relu."""
    return layer_norm(add(x, feed_forward(x, weight_1, bias_1, weight_2, bias_2)), gamma, beta)


@composed(
    *_causal_or_not(f"b n c, {_ATTENTION}, {_NORM}, {_FEED_FORWARD}, {_NORM} -> b n c"),
    source=_POST,
)
def post_norm_block(
    x, w_q, w_k, w_v, w_o, gamma_1, beta_1, weight_1, bias_1, weight_2, bias_2, gamma_2, beta_2, *, is_causal=False
):
    """The transformer's encoder block: the attention sublayer, then the feed-forward sublayer."""
    x = post_norm_attention(x, w_q, w_k, w_v, w_o, gamma_1, beta_1, is_causal=is_causal)
    return post_norm_feed_forward(x, weight_1, bias_1, weight_2, bias_2, gamma_2, beta_2)


@composed(*_causal_or_not(f"b n c, {_ATTENTION}, {_NORM} -> b n c"), source=_PRE)
def pre_norm_attention(x, w_q, w_k, w_v, w_o, gamma, beta, *, is_causal=False):
    """The attention sublayer: x + multi_head_self_attention(layer_norm(x))."""
    normal = layer_norm(x, gamma, beta)
    return add(x, multi_head_self_attention(normal, w_q, w_k, w_v, w_o, is_causal=is_causal))


@composed(f"b n c, {_FEED_FORWARD}, {_NORM} -> b n c", source=_PRE)
def pre_norm_feed_forward(x, weight_1, bias_1, weight_2, bias_2, gamma, beta):
    """The feed-forward sublayer: x + feed_forward(layer_norm(x)), with gelu."""
    normal = layer_norm(x, gamma, beta)
    return add(x, feed_forward(normal, weight_1, bias_1, weight_2, bias_2, activation="gelu"))


@composed(
    *_causal_or_not(f"b n c, {_ATTENTION}, {_NORM}, {_FEED_FORWARD}, {_NORM} -> b n c"),
    source=_PRE,
)
def pre_norm_block(
    x, w_q, w_k, w_v, w_o, gamma_1, beta_1, weight_1, bias_1, weight_2, bias_2, gamma_2, beta_2, *, is_causal=False
):
    """GPT-2's block: the attention sublayer, then the feed-forward sublayer, each on a normalised input."""
    x = pre_norm_attention(x, w_q, w_k, w_v, w_o, gamma_1, beta_1, is_causal=is_causal)
    return pre_norm_feed_forward(x, weight_1, bias_1, weight_2, bias_2, gamma_2, beta_2)
