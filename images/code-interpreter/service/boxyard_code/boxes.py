"""Box plots: matplotlib keeps no record of them, only the strokes that it draws."""
from matplotlib.patches import PathPatch

from .displays import plain


def boxes_of(axes):
    """One entry for each box, from left to right, or from below; none where no boxes are drawn."""
    rectangles = [_corners(line.get_xdata(), line.get_ydata()) for line in axes.lines]
    for patch in axes.patches:
        if isinstance(patch, PathPatch):
            vertices = patch.get_path().vertices
            rectangles.append(_corners(vertices[:5, 0], vertices[:5, 1]))
    strokes = [(line.get_xdata(), line.get_ydata(), line.get_linestyle()) for line in axes.lines]
    found = []
    for box in filter(None, rectangles):
        upright = _read(box, strokes)
        if upright is None:  # it may be lying
            upright = _read((box[2], box[3], box[0], box[1]), [(y, x, style) for x, y, style in strokes])
            axis = axes.yaxis
        else:
            axis = axes.xaxis
        if upright is not None:
            at, element = upright
            found.append((at, {"label": _label(axis, at), **element}))
    return [element for _, element in sorted(found, key=lambda entry: entry[0])]


def _corners(xs, ys):
    """(left, right, bottom, top) of a closed rectangle; None for any other stroke."""
    try:
        points = list(zip(map(float, xs), map(float, ys)))
    except (TypeError, ValueError):
        return None
    if len(points) != 5 or points[0] != points[4]:
        return None
    lefts, bottoms = sorted({x for x, _ in points}), sorted({y for _, y in points})
    if len(lefts) != 2 or not 1 <= len(bottoms) <= 2 or len(set(points)) < 2:
        return None
    return lefts[0], lefts[1], bottoms[0], bottoms[-1]


def _read(box, strokes):
    """The middle of an upright box and its figures; None when no median lies across it."""
    left, right, first, third = box
    middle = (left + right) / 2
    median, whiskers, outliers = None, [], []
    for xs, ys, style in strokes:
        xs, ys = list(xs), list(ys)
        if not xs or len(xs) == 5:
            continue
        if style in ("None", "none", "", " "):
            if all(_near(x, middle) for x in xs):
                outliers.extend(ys)
        elif len(xs) == 2 and ys[0] == ys[1] and _near(xs[0], left) and _near(xs[1], right) and first <= ys[0] <= third:
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
