"""Convolutional blocks, composed: convolution, batch norm, relu, pooling and residuals; images are (n, c, h, w)."""

from certgrad.ops._composed import composed
from certgrad.ops.activations_piecewise import relu
from certgrad.ops.arithmetic import add
from certgrad.ops.batch_normalization import batch_norm
from certgrad.ops.convolution import conv2d
from certgrad.ops.pooling import max_pool2d


def _normal(x, kernel, gamma, beta):
    """Return a convolution of `x` of the same size, normalised over the batch."""
    return batch_norm(conv2d(x, kernel, padding=1), gamma, beta, axis=1)


@composed(
    "n c 2*h 2*w, o c 3 3, o, o -> n o h w",
    source="Ioffe and Szegedy 2015, with pooling by 2: Conv2d, BatchNorm2d, ReLU, MaxPool2d in PyTorch",
)
def conv_norm_relu_pool(x, kernel, gamma, beta):
    """A stage of a convolutional network: conv2d with a 3x3 kernel, batch norm, relu, the maxima of 2x2 windows."""
    return max_pool2d(relu(_normal(x, kernel, gamma, beta)), 2)


@composed(
    "n c h w, c c 3 3, c, c, c c 3 3, c, c -> n c h w",
    torch="torchvision.models.resnet.BasicBlock",
    source="He et al. 2016: the basic block with stride 1",
)
def residual_block(x, kernel_1, gamma_1, beta_1, kernel_2, gamma_2, beta_2):
    """The basic block of a residual network: relu(x + norm(conv(relu(norm(conv(x))))))."""
    inner = _normal(relu(_normal(x, kernel_1, gamma_1, beta_1)), kernel_2, gamma_2, beta_2)
    return relu(add(x, inner))
