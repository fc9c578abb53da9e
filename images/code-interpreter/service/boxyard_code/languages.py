"""The languages of the template, and the differences between their kernels."""
import json
import shlex
import shutil
import sys
from dataclasses import dataclass
from typing import Callable, Mapping, Optional

Variables = Mapping[str, Optional[str]]
"""Environment variables to set; those that are None are removed."""


@dataclass(frozen=True)
class Language:
    name: str
    argv: tuple
    # Code that changes the kernel's environment.
    set_variables: Callable[[Variables], str]
    interrupt_mode: str = "signal"
    # Transport of the channels between the service and the kernel.
    transport: str = "ipc"
    # Code that runs once, at the kernel's start.
    first: str = ""
    # True: the kernel reports that it is idle before it has sent all output. The end of another request shows that all output has arrived.
    needs_fence: bool = False
    # Environment variables of the kernel's process.
    env: tuple = ()


def _python(variables: Variables) -> str:
    return (
        f"(lambda e, v: [e.pop(k, None) if x is None else e.__setitem__(k, x) for k, x in v.items()])"
        f"(__import__('os').environ, {dict(variables)!r});"
    )


def _javascript(variables: Variables) -> str:
    lines = [
        f"delete process.env[{json.dumps(name)}];" if value is None else f"process.env[{json.dumps(name)}] = {json.dumps(value)};"
        for name, value in variables.items()
    ]
    return "\n".join([*lines, "undefined"])


def _bash(variables: Variables) -> str:
    # Names that are not identifiers are possible in an environment, but a shell cannot set them.
    return "\n".join(
        f"unset {name}" if value is None else f"export {name}={shlex.quote(value)}"
        for name, value in variables.items()
        if name.isidentifier() and name.isascii()
    )


# Users write `require` in cells, but this kernel has only modules.
_REQUIRE = 'globalThis.require = (await import("node:module")).createRequire(process.cwd() + "/"); undefined'
_CONNECTION = "{connection_file}"

PYTHON = Language("python", (sys.executable, "-m", "boxyard_code.python_kernel", "-f", _CONNECTION), _python)
JAVASCRIPT = Language(
    "javascript",
    ("deno", "jupyter", "--quiet", "--kernel", "--conn", _CONNECTION),
    _javascript,
    interrupt_mode="message",
    transport="tcp",
    first=_REQUIRE,
    needs_fence=True,
    env=(("NO_COLOR", "1"), ("DENO_NO_UPDATE_CHECK", "1")),
)
TYPESCRIPT = Language(**{**JAVASCRIPT.__dict__, "name": "typescript"})
BASH = Language("bash", (sys.executable, "-m", "bash_kernel", "-f", _CONNECTION), _bash)

# Languages whose program is installed: on some processors there is none for JavaScript, and a user's template may add or remove programs.
LANGUAGES = {language.name: language for language in (PYTHON, JAVASCRIPT, TYPESCRIPT, BASH) if shutil.which(language.argv[0])}
_ALIASES = {"python3": "python", "py": "python", "js": "javascript", "ts": "typescript", "sh": "bash", "shell": "bash"}
# Languages that share the default context of another language.
SHARED_WITH = {"typescript": "javascript"}


def find_language(text: Optional[str]) -> Language:
    """The language of that name. Raises ValueError; clients get its text."""
    name = (text or "python").strip().lower()
    found = LANGUAGES.get(_ALIASES.get(name, name))
    if found is None:
        raise ValueError(f"language '{name[:50]}' is not in this template; it has {', '.join(LANGUAGES)}")
    return found
