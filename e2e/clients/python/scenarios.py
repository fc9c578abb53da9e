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


async def error_of(kind, call):
    """The exception, of exactly this class, that the call raises."""
    do, _ = _tools()
    try:
        await do(call())
    except kind as error:
        same(type(error), kind)
        return error
    raise AssertionError(f"expected {kind}")


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
        upload = sandbox.upload_url("up.txt", use_signature_expiration=60)
        request = urllib.request.Request(upload, data=b"sent", headers={"Content-Type": "application/octet-stream"})
        urllib.request.urlopen(request).close()
        same(await do(sandbox.files.read("up.txt")), "sent")


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
