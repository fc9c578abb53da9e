"""What the published Python client for code must see. Each function is one test, for the synchronous and the asynchronous client alike."""
import contextlib
import json
import time

import e2b
import e2b_code_interpreter

import scenarios
from scenarios import raises, same


class _Flavour:
    def __init__(self, flavour):
        self.Sandbox = e2b_code_interpreter.AsyncSandbox if flavour.is_async else e2b_code_interpreter.Sandbox


@contextlib.asynccontextmanager
async def _sandbox(flavour, **options):
    async with scenarios.sandbox_of(_Flavour(flavour), **options) as sandbox:
        yield sandbox


async def cells_and_errors(flavour):
    do, _ = scenarios._tools()
    async with _sandbox(flavour, envs={"FROM_SANDBOX": "s"}) as sandbox:

        async def run(code, **options):
            return await do(sandbox.run_code(code, **options))

        same((await run("x = 1")).execution_count, 1)
        second = await run("x += 1; x")
        same((second.text, second.execution_count, second.results[0].is_main_result), ("2", 2, True))

        seen, times = [], []
        code = "import sys; print('out'); print('err', file=sys.stderr); display('shown'); 1 / 0"
        wrong = await run(
            code,
            on_stdout=lambda message: seen.append(("stdout", message.line, message.error)) or times.append(message.timestamp),
            on_stderr=lambda message: seen.append(("stderr", message.line, message.error)),
            on_result=lambda result: seen.append(("result", result.text)),
            on_error=lambda error: seen.append(("error", error.name)),
        )
        same(sorted(seen), [("error", "ZeroDivisionError"), ("result", "'shown'"), ("stderr", "err\n", True), ("stdout", "out\n", False)])
        same((wrong.error.name, wrong.error.value), ("ZeroDivisionError", "division by zero"))
        assert abs(times[0] / 1e9 - time.time()) < 60, times  # nanoseconds since 1970
        assert "1 / 0" in wrong.error.traceback
        same((wrong.logs.stdout, wrong.logs.stderr), (["out\n"], ["err\n"]))
        assert "ZeroDivisionError" in json.loads(wrong.to_json())["error"]

        environment = "import os; (os.environ.get('FROM_SANDBOX'), os.environ.get('OWN'))"
        same((await run(environment, envs={"OWN": "o"})).text, "('s', 'o')")
        same((await run(environment)).text, "('s', None)")

        with raises(e2b.TimeoutException):
            await run("while True: pass", timeout=1)
        same((await run("x")).text, "2")
        same((await run("import os; os._exit(1)")).error.name, "KernelDied")
        same((await run("1 + 1")).text, "2")


async def contexts_and_languages(flavour):
    do, _ = scenarios._tools()
    async with _sandbox(flavour) as sandbox:
        own = await do(sandbox.create_code_context(cwd="/tmp", language="python"))
        same((own.language, own.cwd), ("python", "/tmp"))
        same((await do(sandbox.run_code("import os; y = 1; os.getcwd()", context=own))).text, "/tmp")
        same((await do(sandbox.run_code("y"))).error.name, "NameError")
        listed = [context.id for context in await do(sandbox.list_code_contexts())]
        assert own.id in listed and len(listed) == 3, listed
        await do(sandbox.restart_code_context(own))
        same((await do(sandbox.run_code("y", context=own))).error.name, "NameError")
        await do(sandbox.remove_code_context(own.id))
        assert own.id not in [context.id for context in await do(sandbox.list_code_contexts())]
        same((await do(sandbox.run_code("const a: number = 6; a * 7", language="typescript"))).text, "42")
        same((await do(sandbox.run_code("echo hi", language="bash"))).logs.stdout, ["hi\n"])
        unknown = await scenarios.error_of(e2b.SandboxException, lambda: sandbox.run_code("1", language="cobol"))
        same(str(unknown), "400 Bad Request: language 'cobol' is not in this template; it has python, javascript, typescript, bash")


CHARTS = """
import datetime
import matplotlib.pyplot as plt
plt.plot([datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)], [1, 2], label='l'); plt.xlabel('Day'); plt.show()
plt.boxplot([[1, 2, 3, 4, 20]], tick_labels=['p']); plt.show()
plt.pie([1, 3], labels=['A', 'B']); plt.show()
plt.imshow([[1, 2]]); plt.show()
"""


async def results_and_charts(flavour):
    do, _ = scenarios._tools()
    async with _sandbox(flavour) as sandbox:
        table = (await do(sandbox.run_code("import pandas as pd\npd.DataFrame({'a': [1, 2]})"))).results[0]
        same((table.data, "<table" in table.html, sorted(table.formats())), ({"a": [1, 2]}, True, ["data", "html", "text"]))
        line, box, pie, picture = (await do(sandbox.run_code(CHARTS))).results
        assert line.png.startswith("iVBORw0KGgo")
        same((line.chart.type.value, line.chart.x_label, line.chart.x_scale.value), ("line", "Day", "datetime"))
        same([tuple(point) for point in line.chart.elements[0].points][0], ("2024-01-01T00:00:00+00:00", 1))
        element = box.chart.elements[0]
        same((box.chart.type.value, element.label, element.min, element.median, element.max, element.outliers), ("box_and_whisker", "p", 1, 3, 4, [20]))
        same([(piece.label, piece.angle) for piece in pie.chart.elements], [("A", 90), ("B", 270)])
        same(picture.chart.type.value, "unknown")
