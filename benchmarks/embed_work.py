"""What embedding costs, counted from a model's shape."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shape:
    """An encoder of BERT's kind."""

    layers: int
    width: int
    inner: int

    def flops(self, tokens: int) -> int:
        """Floating-point operations of one input of so many tokens, special ones included.

        A product of a row with a matrix of m × n costs 2mn. Per token and layer these are four
        products of width × width (query, key, value, output) and two of width × inner; the scores
        and their sum over the values cost 4 × tokens × width more. Norms, GELU, softmax and the
        look-up of the table are left out: together under 1 %.
        """
        linear = 2 * (4 * self.width**2 + 2 * self.width * self.inner)
        return tokens * self.layers * (linear + 4 * tokens * self.width)


MINILM = Shape(layers=6, width=384, inner=1536)


def total_flops(shape: Shape, lengths: Iterable[int]) -> int:
    """Of inputs that are not padded."""
    return sum(shape.flops(tokens) for tokens in lengths)
