"""Builds what templates/cases.json lists, as the JavaScript client does, and looks at what sandboxes of it print."""
import asyncio
import json
import os
import pathlib
import threading
import urllib.request
import uuid

import e2b

DIRECTORY = pathlib.Path(__file__).parent.parent / "templates"
AT_ONCE = 4


def _template_of(kind, case):
    empty = kind(file_context_path=str(DIRECTORY / "context"))
    if "dockerfile" in case:
        return empty.from_dockerfile(f"FROM e2bdev/base\n{case['dockerfile']}\n")
    template = empty.from_base_image()
    for method, *args in case["steps"]:
        options = args.pop()["options"] if isinstance(args[-1], dict) and "options" in args[-1] else {}
        template = getattr(template, method)(*args, **options)
    return template


def _delete(name):
    headers = {"X-API-Key": os.environ["E2B_API_KEY"]}
    request = urllib.request.Request(f"{os.environ['E2B_API_URL']}/templates/{name}", headers=headers, method="DELETE")
    urllib.request.urlopen(request).close()


async def _try_case(flavour, do, case):
    kind = e2b.AsyncTemplate if flavour.is_async else e2b.Template
    name = f"py-{uuid.uuid4().hex[:12]}"
    await do(kind.build(_template_of(kind, case), name))
    try:
        sandbox = await do(flavour.Sandbox.create(name, timeout=120))
        try:
            seen = (await do(sandbox.commands.run(case["command"]))).stdout
        finally:
            await do(sandbox.kill())
        assert seen == case["prints"], f"{case['what']}: {seen!r} is not {case['prints']!r}"
    finally:
        _delete(name)


async def _work(flavour, do, left):
    while left:
        await _try_case(flavour, do, left.pop())


async def build_all(flavour, do):
    left = json.loads((DIRECTORY / "cases.json").read_text())
    assert len(left) > 15, "the table is not there"
    if flavour.is_async:
        await asyncio.gather(*(_work(flavour, do, left) for _ in range(AT_ONCE)))
        return
    failures = []

    def work():
        try:
            asyncio.run(_work(flavour, do, left))
        except BaseException as error:  # Told by the main thread.
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
