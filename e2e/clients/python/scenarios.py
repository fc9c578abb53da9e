"""What the published Python client must see. Each function is one test, for the synchronous and the asynchronous client alike."""
import contextlib
import os
import urllib.error
import urllib.request
import uuid

import e2b

import template_cases


def _tools():
    import run

    return run.do, run.eventually


@contextlib.asynccontextmanager
async def sandbox_of(flavour, **options):
    do, _ = _tools()
    sandbox = await do(flavour.Sandbox.create(**{"timeout": 120, **options}))
    try:
        yield sandbox
    finally:
        await do(sandbox.kill())


@contextlib.contextmanager
def raises(*kinds):
    try:
        yield
    except kinds:
        return
    raise AssertionError(f"expected {kinds}")


def same(seen, wanted):
    assert seen == wanted, f"{seen!r} is not {wanted!r}"


async def create_and_kill(flavour):
    do, _ = _tools()
    sandbox = await do(flavour.Sandbox.create())
    same(await do(sandbox.is_running()), True)
    same(await do(sandbox.kill()), True)
    same(await do(sandbox.is_running()), False)
    same(await do(sandbox.kill()), False)


async def info_and_list(flavour):
    do, _ = _tools()
    group = {"group": str(uuid.uuid4()), "name": "one & two=2+%41"}
    async with sandbox_of(flavour, metadata=group, timeout=60) as sandbox:
        info = await do(sandbox.get_info())
        same((info.sandbox_id, info.metadata, info.state.value, info.envd_version), (sandbox.sandbox_id, group, "running", "0.6.13"))
        assert 55 < (info.end_at - info.started_at).total_seconds() < 65
        paginator = flavour.Sandbox.list(query=e2b.SandboxQuery(metadata=group))
        listed = []
        while paginator.has_next:
            listed.extend(await do(paginator.next_items()))
        same([entry.sandbox_id for entry in listed], [sandbox.sandbox_id])


async def commands(flavour):
    do, _ = _tools()
    async with sandbox_of(flavour, envs={"COLOUR": "green"}) as sandbox:
        run = sandbox.commands.run
        result = await do(run("echo $COLOUR; echo oops >&2"))
        same((result.exit_code, result.stdout, result.stderr), (0, "green\n", "oops\n"))
        same((await do(run("echo $COLOUR; id -un; pwd", envs={"COLOUR": "red"}, user="root", cwd="/etc"))).stdout, "red\nroot\n/etc\n")
        try:
            await do(run("echo partial; exit 3"))
            raise AssertionError("a failing command raises")
        except e2b.CommandExitException as error:
            same((error.exit_code, error.stdout), (3, "partial\n"))
        pieces = []
        await do(run("for i in 1 2 3; do echo $i; sleep 0.1; done", on_stdout=pieces.append))
        same("".join(pieces), "1\n2\n3\n")
        with raises(e2b.TimeoutException):
            await do(run("sleep 60", timeout=0.7))
        with raises(e2b.InvalidArgumentException):
            await do(run("true", cwd="/does/not/exist"))


async def background_and_stdin(flavour):
    do, eventually = _tools()
    async with sandbox_of(flavour) as sandbox:
        sleeper = await do(sandbox.commands.run("sleep 300", background=True))
        assert sleeper.pid in [entry.pid for entry in await do(sandbox.commands.list())]
        same(await do(sleeper.kill()), True)

        async def gone():
            return sleeper.pid not in [entry.pid for entry in await do(sandbox.commands.list())]

        await eventually("the killed command is not listed", gone)
        same(await do(sandbox.commands.kill(sleeper.pid)), False)

        cat = await do(sandbox.commands.run("cat", background=True, stdin=True))
        await do(sandbox.commands.send_stdin(cat.pid, "first\n"))
        await do(sandbox.commands.send_stdin(cat.pid, "second\n"))
        await do(sandbox.commands.close_stdin(cat.pid))
        same((await do(cat.wait())).stdout, "first\nsecond\n")


async def streamed_input(flavour):
    do, _ = _tools()
    async with sandbox_of(flavour) as sandbox:
        cat = await do(sandbox.commands.run("cat", background=True, stdin=True))
        lines = [f"line {number}\n" for number in range(200)]
        stream = sandbox.commands.stream_input
        if flavour.is_async:
            async with stream(cat.pid) as handle:
                for line in lines:
                    await handle.send(line)
        else:
            stream(cat.pid, lines)
        await do(sandbox.commands.close_stdin(cat.pid))
        same((await do(cat.wait())).stdout, "".join(lines))


async def files(flavour):
    do, _ = _tools()
    async with sandbox_of(flavour) as sandbox:
        api = sandbox.files
        written = await do(api.write("notes.txt", "hello\n"))
        same((written.path, written.name), ("/home/user/notes.txt", "notes.txt"))
        same(await do(api.read("notes.txt")), "hello\n")
        data = bytes(range(256)) * 1000
        await do(api.write("/tmp/deep/bytes.bin", data))
        same(bytes(await do(api.read("/tmp/deep/bytes.bin", format="bytes"))), data)
        stream = await do(api.read("/tmp/deep/bytes.bin", format="stream"))
        joined = b"".join([chunk async for chunk in stream]) if flavour.is_async else b"".join(stream)
        same(joined, data)
        await do(api.write("packed.txt", "gzip " * 1000, gzip=True))
        same(await do(api.read("packed.txt", gzip=True)), "gzip " * 1000)
        several = await do(api.write_files([{"path": "a/one.txt", "data": "1"}, {"path": "/tmp/two.txt", "data": b"2"}]))
        same([entry.path for entry in several], ["/home/user/a/one.txt", "/tmp/two.txt"])
        await do(api.write("tagged.txt", "x", metadata={"origin": "test"}))
        same((await do(api.get_info("tagged.txt"))).metadata, {"origin": "test"})

        same((await do(api.make_dir("work")), await do(api.make_dir("work"))), (True, False))
        same((await do(api.rename("notes.txt", "work/moved.txt"))).path, "/home/user/work/moved.txt")
        await do(sandbox.commands.run("ln -s moved.txt work/link"))
        same([entry.name for entry in await do(api.list("work"))], ["link", "moved.txt"])
        same((await do(api.exists("notes.txt")), await do(api.exists("work/moved.txt"))), (False, True))
        await do(api.remove("work"))
        same(await do(api.exists("work")), False)
        with raises(e2b.NotFoundException):
            await do(api.read("missing"))
        with raises(e2b.InvalidArgumentException):
            await do(api.read("/tmp"))


async def watch(flavour):
    do, eventually = _tools()
    async with sandbox_of(flavour) as sandbox:
        await do(sandbox.files.make_dir("watched"))
        handle, seen = await flavour.watch(sandbox, "watched", recursive=True)
        await do(sandbox.files.write("watched/a.txt", "1"))
        await eventually("the file's creation", lambda: ("create", "a.txt") in seen())
        await do(sandbox.files.remove("watched/a.txt"))
        await eventually("the file's removal", lambda: ("remove", "a.txt") in seen())
        await do(handle.stop())


async def terminal(flavour):
    do, _ = _tools()
    async with sandbox_of(flavour) as sandbox:
        handle, finish = await flavour.terminal(sandbox, e2b.PtySize(rows=30, cols=90))
        await do(sandbox.pty.send_stdin(handle.pid, b"stty size; echo sum-$((40+2))\n"))
        await do(sandbox.pty.resize(handle.pid, e2b.PtySize(rows=43, cols=132)))
        await do(sandbox.pty.send_stdin(handle.pid, b"stty size\nexit\n"))
        shown = await finish()
        assert "sum-42" in shown and "43 132" in shown, shown


async def signed_urls(flavour):
    do, _ = _tools()
    async with sandbox_of(flavour) as sandbox:
        await do(sandbox.files.write("hello.txt", "signed"))
        url = sandbox.download_url("hello.txt", use_signature_expiration=60)
        with urllib.request.urlopen(url) as answer:
            same(answer.read(), b"signed")
        try:
            urllib.request.urlopen(url.replace("hello.txt", "%2Fetc%2Fshadow"))
            raise AssertionError("a forged URL is refused")
        except urllib.error.HTTPError as error:
            same(error.code, 401)


async def errors(flavour):
    do, _ = _tools()
    nobody = "i00000000000000000000"
    with raises(e2b.AuthenticationException):
        await do(flavour.Sandbox.create(api_key="e2b_" + "0" * 40))
    with raises(e2b.SandboxException):
        await do(flavour.Sandbox.create("no-such-template"))
    with raises(e2b.NotFoundException):
        await do(flavour.Sandbox.connect(nobody))
    same(await do(flavour.Sandbox.kill(nobody)), False)
    sandbox = await do(flavour.Sandbox.create())
    await do(sandbox.kill())
    with raises(e2b.SandboxNotRunningException):
        await do(sandbox.commands.run("true"))


async def timeout_and_connect(flavour):
    do, eventually = _tools()
    async with sandbox_of(flavour) as sandbox:
        await do(sandbox.files.write("kept.txt", "kept"))
        same_one = await do(flavour.Sandbox.connect(sandbox.sandbox_id))
        same(await do(same_one.files.read("kept.txt")), "kept")
        await do(sandbox.set_timeout(1))

        async def ended():
            return not await do(sandbox.is_running())

        await eventually("the sandbox has ended by itself", ended, 8)


async def idempotent_create(flavour):
    do, _ = _tools()
    key = str(uuid.uuid4())
    one = await do(flavour.Sandbox.create(idempotency_key=key))
    try:
        again = await do(flavour.Sandbox.create(idempotency_key=key))
        same(again.sandbox_id, one.sandbox_id)
    finally:
        await do(one.kill())


async def build_template(flavour):
    """Template.build: steps, log, cache, tags, a failing step."""
    do, _ = _tools()
    Template = e2b.AsyncTemplate if flavour.is_async else e2b.Template
    name = f"py-{uuid.uuid4().hex[:12]}"
    log = []
    build = lambda template, **options: do(
        Template.build(template, name, on_build_logs=lambda entry: log.append(entry.message), **options)
    )
    try:
        template = (
            Template()
            .from_base_image()
            .set_envs({"COLOUR": "green"})
            .set_workdir("/app")
            .run_cmd("echo $COLOUR > colour")
            .set_start_cmd("python3 -m http.server 8091", e2b.wait_for_port(8091))
        )
        info = await build(template, tags=["v1"])
        assert await do(Template.exists(name))
        async with sandbox_of(flavour, template=f"{name}:v1") as sandbox:
            seen = await do(sandbox.commands.run("cat colour; curl -s localhost:8091/colour; pwd"))
            same(seen.stdout, "green\ngreen\n/app\n")
        log.clear()
        again = await build(template)
        same(again.template_id, info.template_id)
        assert any(line.startswith("CACHED [builder 3/3] RUN") for line in log), log
        same(sorted(tag.tag for tag in await do(Template.get_tags(name))), ["default", "v1"])
        try:
            await build(Template().from_base_image().run_cmd("echo no >&2; exit 9"))
            raise AssertionError("the build of a failing step succeeded")
        except e2b.BuildException as error:
            same(str(error), "failed to run command 'echo no >&2; exit 9': exit status 9")
        assert "[builder 1/1] [stderr]: no" in log
    finally:
        headers = {"X-API-Key": os.environ["E2B_API_KEY"]}
        request = urllib.request.Request(f"{os.environ['E2B_API_URL']}/templates/{name}", headers=headers, method="DELETE")
        urllib.request.urlopen(request).close()


async def build_same_as_javascript(flavour):
    """The table of templates that every published client builds."""
    do, _ = _tools()
    await template_cases.build_all(flavour, do)
