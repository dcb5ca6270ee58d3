"""Linear maps and matrix equations. A status of None: TorchLean's op list does not have the row."""

ROWS = [
    ("linear", "D, in x"),
    ("matmul", "N"),
    ("bmm", "N, in part"),
    ("einsum", None),
    ("dot outer vdot trace kron", None),
    ("embedding embedding_one_hot", "in part"),
    ("solve inverse cholesky slogdet triangular_solve", None),
    # What readers expect beside them.
    ("tensordot inner vecdot matvec vecmat bilinear diagonal quadratic_form gram_matrix multi_dot", None),
    ("cdist pairwise_squared_distance cosine_similarity_matrix", None),
]
