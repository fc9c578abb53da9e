"""The data of a matplotlib figure: its charts with their labels, ticks and points (docs/contract/code-interpreter.md)."""
import re

from matplotlib import dates as mdates
from matplotlib.category import StrCategoryConverter
from matplotlib.collections import PathCollection
from matplotlib.container import BarContainer
from matplotlib.patches import Wedge

from .boxes import boxes_of
from .displays import plain

MAX_POINTS = 100_000


def chart_of(figure):
    """The chart of a figure; a `superchart` if the figure has several axes. None if the figure has no axes, or too many points."""
    axes = [one for one in figure.axes if one.get_label() != "<colorbar>"]
    charts = [_chart(one) for one in axes]
    if not charts or sum(_points(chart) for chart in charts) > MAX_POINTS:
        return None
    if len(charts) == 1:
        return charts[0]
    title = figure.get_suptitle() if hasattr(figure, "get_suptitle") else ""
    return {"type": "superchart", "title": title or None, "elements": charts}


def _points(chart):
    return sum(len(element.get("points", "-")) for element in chart["elements"])


def _chart(axes):
    title = {"title": axes.get_title() or None}
    wedges = [patch for patch in axes.patches if isinstance(patch, Wedge)]
    if wedges:
        return {"type": "pie", **title, "elements": _slices(axes, wedges)}
    boxes = boxes_of(axes)
    if boxes:
        return {"type": "box_and_whisker", **title, **_labels(axes), "elements": boxes}
    bars = [container for container in axes.containers if isinstance(container, BarContainer)]
    if bars:
        return {"type": "bar", **title, **_labels(axes), "elements": _bars(axes, bars)}
    scatters = [one for one in axes.collections if isinstance(one, PathCollection)]
    if axes.lines:
        return {"type": "line", **title, **_labels(axes), **_scales(axes), "elements": _lines(axes)}
    if scatters:
        return {"type": "scatter", **title, **_labels(axes), **_scales(axes), "elements": _scatters(axes, scatters)}
    return {"type": "unknown", **title, "elements": []}


def _labels(axes):
    """The labels of the axes, and the units in the labels: `Time (s)`, `Speed [m/s]`."""

    def unit(text):
        found = re.search(r"[(\[]([^()\[\]]+)[)\]]\s*$", text)
        return found.group(1) if found else None

    x, y = axes.get_xlabel(), axes.get_ylabel()
    return {"x_label": x or None, "y_label": y or None, "x_unit": unit(x), "y_unit": unit(y)}


def _scales(axes):
    members = {}
    for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        members[f"{name}_ticks"] = [_value(axis, tick) for tick in axis.get_ticklocs()]
        members[f"{name}_tick_labels"] = [label.get_text() for label in axis.get_ticklabels()]
        members[f"{name}_scale"] = _scale(axis)
    return members


def _scale(axis):
    if _is_categorical(axis):
        return "categorical"
    return "datetime" if _is_date(axis) else axis.get_scale()


def _converter(axis):
    return axis.get_converter() if hasattr(axis, "get_converter") else axis.converter


def _is_categorical(axis):
    return isinstance(_converter(axis), StrCategoryConverter)


def _is_date(axis):
    return isinstance(_converter(axis), (mdates.DateConverter, mdates.ConciseDateConverter)) or type(_converter(axis)).__name__ in (
        "_SwitchableDateConverter",
        "DatetimeConverter",
    )


def _value(axis, number):
    """A position on an axis in the form that the user gave: a name, a date or a number."""
    if _is_categorical(axis):
        names = list(axis.units._mapping) if axis.units is not None else []
        at = int(round(float(number)))
        return names[at] if 0 <= at < len(names) else plain(number)
    if _is_date(axis):
        try:
            return mdates.num2date(float(number)).isoformat()
        except (ValueError, OverflowError):
            return plain(number)
    return plain(number)


def _given(axis, values):
    """The plotted values, which are numbers, dates or names, in a form for JSON."""
    return [value if isinstance(value, str) else _value(axis, value) if _is_number(value) else plain(value) for value in values]


def _is_number(value):
    return isinstance(value, (int, float)) or hasattr(value, "dtype") and value.dtype.kind in "iuf"


def _lines(axes):
    return [
        {
            "label": line.get_label(),
            "points": list(zip(_given(axes.xaxis, line.get_xdata(orig=False)), _given(axes.yaxis, line.get_ydata(orig=False)))),
        }
        for line in axes.lines
    ]


def _scatters(axes, scatters):
    return [
        {
            "label": one.get_label(),
            "points": [[_value(axes.xaxis, x), _value(axes.yaxis, y)] for x, y in one.get_offsets().tolist()],
        }
        for one in scatters
    ]


def _bars(axes, containers):
    elements = []
    for container in containers:
        lying = getattr(container, "orientation", "vertical") == "horizontal"
        axis = axes.yaxis if lying else axes.xaxis
        names = {round(float(at), 6): label.get_text() for at, label in zip(axis.get_ticklocs(), axis.get_ticklabels())}
        for bar in container.patches:
            middle = bar.get_y() + bar.get_height() / 2 if lying else bar.get_x() + bar.get_width() / 2
            name = names.get(round(float(middle), 6)) or str(_value(axis, middle))
            elements.append({"label": name, "group": container.get_label(), "value": plain(bar.get_width() if lying else bar.get_height())})
    return elements


def _slices(axes, wedges):
    texts = [text.get_text() for text in axes.texts]
    return [
        {
            "label": _slice_label(wedge, texts, i),
            # Sums of 32-bit numbers: further digits have no meaning.
            "angle": plain(round(float(wedge.theta2 - wedge.theta1), 4)),
            "radius": plain(wedge.r),
        }
        for i, wedge in enumerate(wedges)
    ]


def _slice_label(wedge, texts, i):
    """The label of a wedge. If the wedge has no label for the legend, the text beside it."""
    label = wedge.get_label()
    return texts[i] if label.startswith("_") and i < len(texts) else label
