"""Reads box plots from the lines of a figure: matplotlib keeps only the lines that it draws, not the values."""
from matplotlib.patches import PathPatch

from .displays import plain

# Number of points of a box's outline; the last point is the first one again.
_PLAIN = 5
_NOTCHED = 11
_NO_LINE = ("None", "none", "", " ")


def boxes_of(axes):
    """One entry for each box, from left to right or from bottom to top. Empty if there are no boxes."""
    outlines = [(line.get_xdata(), line.get_ydata()) for line in axes.lines]
    for patch in axes.patches:
        if isinstance(patch, PathPatch):
            vertices = patch.get_path().vertices
            vertices = vertices[: _NOTCHED if len(vertices) >= _NOTCHED else _PLAIN]
            outlines.append((vertices[:, 0], vertices[:, 1]))
    strokes = [(line.get_xdata(), line.get_ydata(), line.get_linestyle()) for line in axes.lines]
    turned = [(y, x, style) for x, y, style in strokes]
    found = []
    for xs, ys in outlines:
        for box, marks, axis in ((_box(xs, ys), strokes, axes.xaxis), (_box(ys, xs), turned, axes.yaxis)):
            read = _read(box, marks) if box is not None else None
            if read is not None:
                at, element = read
                found.append((at, {"label": _label(axis, at), **element}))
                break
    return [element for _, element in sorted(found, key=lambda entry: entry[0])]


def _box(xs, ys):
    """(left, right, first quartile, third quartile, left end of the median, right end of the median) of a vertical box; None for other lines."""
    try:
        points = list(zip(map(float, xs), map(float, ys)))
    except (TypeError, ValueError):
        return None
    if len(points) not in (_PLAIN, _NOTCHED) or points[0] != points[-1]:
        return None
    if len(points) == _NOTCHED:  # (left, q1), (right, q1), the right side upwards with its notch, (right, q3), (left, q3), the left side downwards
        (left, first), (right, _), (_, third) = points[0], points[1], points[5]
        return left, right, first, third, points[8][0], points[3][0]
    lefts, bottoms = sorted({x for x, _ in points}), sorted({y for _, y in points})
    if len(lefts) != 2 or not 1 <= len(bottoms) <= 2 or len(set(points)) < 2:
        return None
    return lefts[0], lefts[1], bottoms[0], bottoms[-1], lefts[0], lefts[1]


def _read(box, strokes):
    """The centre of a vertical box and its values; None if no line is the median of the box."""
    left, right, first, third, median_left, median_right = box
    middle = (left + right) / 2
    median, whiskers, outliers = None, [], []
    for xs, ys, style in strokes:
        xs, ys = list(xs), list(ys)
        if not xs or len(xs) in (_PLAIN, _NOTCHED) and style not in _NO_LINE:
            continue
        if style in _NO_LINE:
            if all(_near(x, middle) for x in xs):
                outliers.extend(ys)
        elif len(xs) == 2 and ys[0] == ys[1] and _near(xs[0], median_left) and _near(xs[1], median_right) and first <= ys[0] <= third:
            median = ys[0]
        elif len(xs) == 2 and _near(xs[0], middle) and _near(xs[1], middle) and (ys[0] in (first, third)):
            whiskers.append(ys[1])
    if median is None or len(whiskers) != 2:
        return None
    low, high = sorted(whiskers)
    figures = {"min": low, "first_quartile": first, "median": median, "third_quartile": third, "max": high}
    return middle, {**{name: plain(value) for name, value in figures.items()}, "outliers": [plain(value) for value in outliers]}


def _near(a, b):
    return abs(float(a) - b) < 1e-9 * max(1.0, abs(b))


def _label(axis, at):
    for tick, label in zip(axis.get_ticklocs(), axis.get_ticklabels()):
        if abs(tick - at) < 1e-6:
            return label.get_text()
    return f"{at:g}"
