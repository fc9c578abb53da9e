"""An IPython extension: data frames and charts are also sent as data, and a picture that the last statement of a cell saves is its result."""
import ast
import builtins
import datetime
import math
import sys

from IPython.core.formatters import BaseFormatter
from traitlets import ObjectName, Unicode

from .mimes import CHART_MIME, DATA_MIME

MAX_CELLS = 200_000


class DataFormatter(BaseFormatter):
    format_type = Unicode(DATA_MIME)
    print_method = ObjectName("_repr_boxyard_data_")
    _return_type = dict


class ChartFormatter(BaseFormatter):
    format_type = Unicode(CHART_MIME)
    _return_type = dict

    def __call__(self, shown):
        # Not registered by type as others are: the inline backend removes all registered formatters of figures when it is loaded.
        if (type(shown).__module__, type(shown).__name__) != ("matplotlib.figure", "Figure"):
            return None
        try:
            from .charts import chart_of  # matplotlib is loaded already

            return chart_of(shown)
        except Exception:
            return None  # the picture is sent anyway, without its data


def plain(value):
    """A value in a form for JSON. NaN and infinities, which JSON does not have, become null."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        text = value.isoformat()
        return None if text == "NaT" else text
    if hasattr(value, "item"):  # a value of numpy
        return plain(value.item())
    text = str(value)
    return None if text in ("NaT", "<NA>") else text


def frame_data(frame):
    """The columns by name, each a list. None for a frame that is too large to be sent as data too."""
    if frame.size > MAX_CELLS:
        return None
    return {str(name): [plain(value) for value in frame.iloc[:, i].tolist()] for i, name in enumerate(frame.columns)}


class SavedPictures(ast.NodeTransformer):
    """If `picture.save(…)` is the last statement of a cell, the picture is the result of the cell. `save` of other objects works as before."""

    def visit_Module(self, module):
        last = module.body[-1] if module.body else None
        call = last.value if isinstance(last, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "save":
            shown = ast.Call(ast.Name(_SAVE, ast.Load()), [call.func.value, *call.args], call.keywords)
            last.value = ast.fix_missing_locations(ast.copy_location(shown, call))
        return module


_SAVE = "_boxyard_save_"


def _save(saved, /, *args, **options):
    value = saved.save(*args, **options)
    pil = sys.modules.get("PIL.Image")
    return saved if value is None and pil is not None and isinstance(saved, pil.Image) else value


def load_ipython_extension(shell):
    setattr(builtins, _SAVE, _save)
    shell.ast_transformers.append(SavedPictures())
    shell.colors = "nocolor"  # programs read the tracebacks
    formatter = shell.display_formatter
    data = DataFormatter(parent=formatter)
    # By name, so that pandas is not imported before a cell uses it.
    for module in ("pandas", "pandas.core.frame"):
        data.for_type_by_name(module, "DataFrame", frame_data)
    formatter.formatters[DATA_MIME] = data
    formatter.formatters[CHART_MIME] = ChartFormatter(parent=formatter)
