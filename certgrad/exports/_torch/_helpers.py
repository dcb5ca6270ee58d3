"""Helpers of emitted code, where torch has no one function for a primitive.

Those that a program calls are copied into its file as they stand here; so they use torch and each other alone.
"""

import torch


def floordiv(a, b):
    return a // b


def mod(a, b):
    return a % b


def _typed(name, x, dtype, rank):
    if x.dtype != dtype:
        raise TypeError(
            f"{name} is {x.dtype}, and this code is for {dtype}: convert it, or write the code for that dtype"
        )
    if x.dim() != rank:
        raise ValueError(f"{name} has shape {tuple(x.shape)}, and should have {rank} axes")


def _shaped(name, x, shape):
    if tuple(x.shape) != shape:
        raise ValueError(f"{name} has shape {tuple(x.shape)}, and by the shapes of the others it should be {shape}")


def _broadcast(x, shape, places):
    found = [1] * len(shape)
    for size, place in zip(x.shape, places, strict=True):
        found[place] = size
    order = sorted(range(len(places)), key=places.__getitem__)
    return x.permute(order).reshape(found).expand(shape)


def _pad(x, value, config):
    """Each entry of config: so many before, after, and between; negative edges are cut off."""
    for axis, (_, _, inner) in enumerate(config):
        if inner and x.shape[axis]:
            shape = list(x.shape)
            between = value.expand([*shape[: axis + 1], inner, *shape[axis + 1 :]])
            x = torch.cat([x.unsqueeze(axis + 1), between], axis + 1)
            shape[axis] *= inner + 1
            x = x.reshape(shape).narrow(axis, 0, shape[axis] - inner)
    for axis, (before, after, _) in enumerate(config):
        first, last = max(-before, 0), x.shape[axis] - max(-after, 0)
        x = x.narrow(axis, first, last - first)
        shape = list(x.shape)
        edges = [value.expand([*shape[:axis], max(size, 0), *shape[axis + 1 :]]) for size in (before, after)]
        if before > 0 or after > 0:
            x = torch.cat([edges[0], x, edges[1]], axis)
    return x


def _conv(x, kernel, specs, strides, padding, between, dilation, groups, batch_groups):
    x, kernel = x.permute(specs[0]), kernel.permute(specs[1])
    if batch_groups > 1:
        shape = x.shape
        x = x.reshape(batch_groups, shape[0] // batch_groups, *shape[1:]).transpose(0, 1)
        x = x.reshape(shape[0] // batch_groups, shape[1] * batch_groups, *shape[2:])
        groups = batch_groups
    edges = [(a, b, d - 1) for (a, b), d in zip(padding, between, strict=True)]
    x = _pad(x, torch.zeros((), dtype=x.dtype, device=x.device), [(0, 0, 0), (0, 0, 0), *edges])
    run = (torch.conv1d, torch.conv2d, torch.conv3d)[len(strides) - 1]
    out = run(x, kernel, None, strides, 0, dilation, groups)
    return out.permute([specs[2].index(k) for k in range(len(specs[2]))])


def _windows(x, sizes, strides, padding, between, dilation, empty):
    """The windows over an array, each in one last axis."""
    value = torch.full((), empty, dtype=x.dtype, device=x.device)
    x = _pad(x, value, [(a, b, d - 1) for (a, b), d in zip(padding, between, strict=True)])
    for axis, (size, stride, step) in enumerate(zip(sizes, strides, dilation, strict=True)):
        x = x.unfold(axis, (size - 1) * step + 1, stride)[..., ::step]
    return x.flatten(len(sizes))


def _scatter_chosen(source, x, sizes, strides, padding, largest):
    """Each entry of source is added where the largest entry of its window is, the first of equal ones."""
    ones = [1] * len(sizes)
    worst = -torch.inf if largest else torch.inf
    windows = _windows(x, sizes, strides, padding, ones, ones, worst)
    places = torch.arange(x.numel(), device=x.device).reshape(x.shape)
    places = _windows(places, sizes, strides, padding, ones, ones, 0)
    chosen = windows.argmax(-1, keepdim=True) if largest else windows.argmin(-1, keepdim=True)
    flat = torch.zeros(x.numel(), dtype=source.dtype, device=x.device)
    flat = flat.index_add(0, places.gather(-1, chosen).reshape(-1), source.reshape(-1))
    return flat.reshape(x.shape)


def _places(shape, index, window, indexed, batch, batch_of_index, sizes, removed):
    """Return where each entry of the slices is, axis by axis, and whether its slice was inside of the array.

    `window` says along which axes of the result the slices lie, whose other axes are those of the index.
    """
    rank = len(window) + index.dim() - 1
    outer = [k for k in range(rank) if k not in window]

    def along(x, axes):
        wanted = [1] * rank
        for size, axis in zip(x.shape, axes, strict=True):
            wanted[axis] = size
        return x.reshape(wanted)

    inside = torch.ones([1] * rank, dtype=torch.bool, device=index.device)
    starts = {}
    for column, axis in enumerate(indexed):
        given, last = index[..., column].long(), shape[axis] - sizes[axis]
        clipped = given.clamp(0, last)
        inside = inside & along(given == clipped, outer)
        starts[axis] = along(clipped, outer)
    for axis, other in zip(batch, batch_of_index, strict=True):
        starts[axis] = along(torch.arange(shape[axis], device=index.device), [outer[other]])
    left = iter(window)
    found = []
    for axis, size in enumerate(sizes):
        place = starts.get(axis, torch.zeros([1] * rank, dtype=torch.long, device=index.device))
        if axis not in batch and axis not in removed:
            place = place + along(torch.arange(size, device=index.device), [next(left)])
        found.append(place)
    return found, inside


def _gather(x, index, window, collapsed, indexed, batch, batch_of_index, sizes, fill):
    places, inside = _places(x.shape, index, window, indexed, batch, batch_of_index, sizes, collapsed)
    found = x[tuple(places)]
    if fill is None:
        return found
    return torch.where(inside, found, torch.full((), fill, dtype=x.dtype, device=x.device))


def _scatter(x, index, updates, window, inserted, indexed, batch, batch_of_index, drop, how):
    left = iter(window)
    sizes = [1 if k in inserted or k in batch else updates.shape[next(left)] for k in range(x.dim())]
    places, inside = _places(x.shape, index, window, indexed, batch, batch_of_index, sizes, inserted)
    flat = torch.zeros((), dtype=torch.long, device=x.device)
    for place, size in zip(places, x.shape, strict=True):
        flat = flat * size + place
    flat = flat.expand(updates.shape).reshape(-1)
    out, given = x.reshape(-1), updates.reshape(-1)
    if drop:
        kept = inside.expand(updates.shape).reshape(-1)
        if how == "sum":
            given = torch.where(kept, given, torch.zeros((), dtype=x.dtype, device=x.device))
        else:
            flat, given = flat[kept], given[kept]
    out = out.index_copy(0, flat, given) if how == "" else out.scatter_reduce(0, flat, given, how)
    return out.reshape(x.shape)


def _at(shape, sizes, starts):
    """The places of a slice along each axis, moved so that it fits."""
    rank, found = len(shape), []
    for axis, (whole, size, start) in enumerate(zip(shape, sizes, starts, strict=True)):
        row = start.long().clamp(0, whole - size) + torch.arange(size, device=start.device)
        found.append(row.reshape([-1 if k == axis else 1 for k in range(rank)]))
    return tuple(found)


def _slice_at(x, starts, sizes):
    return x[_at(x.shape, sizes, starts)] if sizes else x


def _update_at(x, update, starts):
    return x.index_put(_at(x.shape, update.shape, starts), update) if x.dim() else update


def _cumulative(run, x, axis, reverse):
    if not reverse:
        return run(x, axis)
    return run(x.flip(axis), axis).flip(axis)


def _cummax(x, axis):
    return torch.cummax(x, axis).values


def _cummin(x, axis):
    return torch.cummin(x, axis).values


def _sort(xs, axis, keys):
    order = None
    for key in reversed(xs[:keys]):  # by the last key first, and stably by those before it
        given = key if order is None else key.gather(axis, order)
        by = given.argsort(dim=axis, stable=True)
        order = by if order is None else order.gather(axis, by)
    return [x.gather(axis, order) for x in xs]


def _top_k(x, k, axis):
    values, places = x.sort(dim=axis, descending=True, stable=True)
    return values.narrow(axis, 0, k), places.narrow(axis, 0, k).int()


def _product(x, axes):
    for axis in sorted(axes, reverse=True):
        x = x.prod(axis, dtype=x.dtype)
    return x


def _triangular(a, b, left, lower, transposed, unit):
    if transposed:
        a, lower = a.mT, not lower
    return torch.linalg.solve_triangular(a, b, upper=not lower, left=left, unitriangular=unit)


def _scan(body, consts, carry, rows, length, reverse):
    stacked = []
    for k in reversed(range(length)) if reverse else range(length):
        found = body(*consts, *carry, *(row[k] for row in rows))
        carry = found[: len(carry)]
        stacked.append(found[len(carry) :])
    columns = zip(*(stacked[::-1] if reverse else stacked), strict=True)
    return [*carry, *(torch.stack(column) for column in columns)]


def _while(test, body, carry):
    while bool(test(*carry)[0]):
        carry = body(*carry)
    return carry


def _switch(index, branches, given):
    return branches[min(max(int(index), 0), len(branches) - 1)](*given)
