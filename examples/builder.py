"""A residual network, written as terms: chains with `>>`, sharing with `let`, named parameters and inputs.

certgrad graph examples/builder.py:loss
"""

from certgrad.graph.builder import Model, let, linear, mse, relu, standardize, variables

W, b, V, c, U, d = variables("W: h n", "b: h", "V: h h", "c: h", "U: m h", "d: m")
x, target = variables("x: batch n", "target: batch m")

inner = linear(V, c) >> relu
net = linear(W, b) >> (lambda u: let(u, lambda h: relu(inner(h) + h))) >> standardize() >> linear(U, d)

predict = Model(params=[W, b, V, c, U, d], inputs=[x], body=net, name="predict")
loss = Model(params=[W, b, V, c, U, d], inputs=[x, target], body=mse(net(x), target), name="loss")
