"""The layered drawing: parents above children, no boxes on top of each other, edges that arrive."""

from hypothesis import given, settings
from hypothesis import strategies as st

from certgrad.graph.views._layout import layout


@st.composite
def dags(draw) -> tuple[int, list[tuple[int, int]]]:
    count = draw(st.integers(1, 14))
    pairs = [(a, b) for b in range(count) for a in range(b)]
    return count, draw(st.lists(st.sampled_from(pairs), unique=True, max_size=25)) if pairs else []


@given(dags(), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_a_drawing(dag: tuple[int, list[tuple[int, int]]], random) -> None:
    count, edges = dag
    drawing = layout([(random.uniform(10, 90), random.choice([20.0, 50.0])) for _ in range(count)], edges)
    boxes = drawing.boxes
    for a, b in edges:
        assert boxes[a].y + boxes[a].height / 2 < boxes[b].y - boxes[b].height / 2
    for k, box in enumerate(boxes):
        assert box.x - box.width / 2 >= 0
        assert box.x + box.width / 2 <= drawing.width
        assert box.y + box.height / 2 <= drawing.height
        for other in boxes[:k]:
            apart = abs(box.x - other.x) >= (box.width + other.width) / 2
            assert apart or abs(box.y - other.y) >= (box.height + other.height) / 2
    for (a, b), points in zip(edges, drawing.edges, strict=True):
        assert points[0] == (boxes[a].x, boxes[a].y + boxes[a].height / 2)
        assert points[-1] == (boxes[b].x, boxes[b].y - boxes[b].height / 2)
        heights = [y for _, y in points]
        assert heights == sorted(heights)


def test_a_chain_is_a_column() -> None:
    drawing = layout([(40.0, 20.0)] * 5, [(k, k + 1) for k in range(4)])
    assert len({round(b.x, 6) for b in drawing.boxes}) == 1


def test_nothing() -> None:
    assert layout([], []).boxes == []
