# anuragranj/spynet#4: the gradient of a sampler by the coordinate, which is in pixels, is multiplied by half the width,
# as if it were between -1 and 1.
import jax
import jax.numpy as jnp


def neighbours(image, place):
    left = jnp.clip(jnp.floor(place).astype(int), 0, image.shape[0] - 2)
    return left, image[left], image[left + 1]


def sample(image, place):
    left, a, b = neighbours(image, place)
    return a + (place - left) * (b - a)


def make(scale):
    rule = jax.custom_vjp(lambda image, place: sample(image, place))

    def bwd(res, g):
        image, place = res
        left, a, b = neighbours(image, place)
        t = place - left
        dimage = jnp.zeros_like(image).at[left].add((1 - t) * g).at[left + 1].add(t * g)
        return dimage, (b - a) * g * scale(image)

    rule.defvjp(lambda image, place: (sample(image, place), (image, place)), bwd)
    return rule


wrong = make(lambda image: (image.shape[0] - 1) / 2)
right = make(lambda image: 1)


def example():
    return jnp.array([0.5, -1.0, 2.0, 0.3, 1.0]), jnp.array([0.3, 2.6])
