"""Perceptrons and classifiers, composed: affine maps, activations and a loss."""

from certgrad.ops._composed import composed
from certgrad.ops.activations_piecewise import relu
from certgrad.ops.losses_distribution import cross_entropy_labels
from certgrad.ops.losses_regression import mse
from certgrad.ops.matrix import linear


@composed(
    "n d, h d, h, k h, k -> n k",
    source="Rumelhart et al. 1986, with relu: Linear, ReLU, Linear in PyTorch",
)
def mlp(x, weight_1, bias_1, weight_2, bias_2):
    """A perceptron with one hidden layer: linear, relu, linear."""
    return linear(relu(linear(x, weight_1, bias_1)), weight_2, bias_2)


@composed(
    "n d, h d, h, k h, k, n k -> ",
    source="Rumelhart et al. 1986; the gradients of all weights, of x and of the target",
)
def mlp_mse(x, weight_1, bias_1, weight_2, bias_2, target):
    """The mean squared error of a perceptron with one hidden layer."""
    return mse(mlp(x, weight_1, bias_1, weight_2, bias_2), target)


@composed(
    "n d, k d, k, n:int -> ",
    source="Bridle 1990: multinomial logistic regression",
)
def softmax_classifier(x, weight, bias, labels):
    """The mean cross-entropy of a linear softmax classifier; rows with a negative label are left out."""
    return cross_entropy_labels(linear(x, weight, bias), labels)
