"""Converts Jupyter's messages to the lines that clients get (docs/contract/code-interpreter.md)."""
import json
import time

from . import limits
from .mimes import CHART_MIME, DATA_MIME

_MEMBERS = {
    "text/plain": "text",
    "text/html": "html",
    "text/markdown": "markdown",
    "image/svg+xml": "svg",
    "image/png": "png",
    "image/jpeg": "jpeg",
    "application/pdf": "pdf",
    "text/latex": "latex",
    "application/json": "json",
    "application/javascript": "javascript",
    DATA_MIME: "data",
    CHART_MIME: "chart",
}
_BASE64 = ("png", "jpeg", "pdf")


def unquoted(text):
    """The text of a string literal without its quotes; other text unchanged."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def result(bundle, is_main):
    line = {"type": "result", "is_main_result": is_main}
    extra = {}
    for mime, value in bundle.items():
        member = _MEMBERS.get(mime)
        if member is None:
            extra[mime] = value
        elif member in _BASE64 and isinstance(value, str):
            line[member] = value.replace("\n", "")
        elif member == "text" and is_main:
            line[member] = unquoted(value)
        else:
            line[member] = value
    if extra:
        # In both places, because clients read one or the other.
        line = {**extra, **line, "extra": extra}
    return line


def error(name, value, traceback=()):
    return {"type": "error", "name": name or "Error", "value": value, "traceback": "\n".join(traceback)}


def stream(name, text):
    """The text as lines of limited length."""
    kind = "stderr" if name == "stderr" else "stdout"
    for at in range(0, len(text), limits.STREAM_PIECE):
        yield {"type": kind, "text": text[at : at + limits.STREAM_PIECE], "timestamp": time.time_ns()}


def lines_of(message):
    """The lines for a message on a kernel's output channel; often none."""
    kind, content = message["msg_type"], message["content"]
    if kind == "stream":
        return list(stream(content["name"], content["text"]))
    if kind in ("execute_result", "display_data", "update_display_data"):
        return [result(content["data"], kind == "execute_result")]
    if kind == "error":
        return [error(content["ename"], content["evalue"], content["traceback"])]
    if kind == "execute_input":
        return [{"type": "number_of_executions", "execution_count": content["execution_count"]}]
    return []


def encode(line):
    """One line as bytes. It has no NaN, which clients cannot read, and only one line feed, at its end."""
    try:
        data = json.dumps(line, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError:
        data = json.dumps(_finite(line), ensure_ascii=False, separators=(",", ":"))
    encoded = data.encode("utf-8", "replace") + b"\n"
    if len(encoded) > limits.MAX_RESULT_BYTES:
        return encode(error("ResultTooLarge", f"a result of {len(encoded)} bytes; {limits.MAX_RESULT_BYTES} can be sent"))
    return encoded


def _finite(value):
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, dict):
        return {key: _finite(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(member) for member in value]
    return value
