"""What the published Python client must see of commands and terminals. Each function is one test, for both of its flavours."""
import e2b

from scenarios import _tools, error_of, raises, same, sandbox_of

#: A process that no machine has.
NOBODY = 4_000_000


async def commands(flavour):
    do, _ = _tools()
    async with sandbox_of(flavour, envs={"COLOUR": "green"}) as sandbox:
        run = sandbox.commands.run
        result = await do(run("echo $COLOUR; echo oops >&2"))
        same((result.exit_code, result.stdout, result.stderr), (0, "green\n", "oops\n"))
        same((await do(run("echo $COLOUR; id -un; pwd", envs={"COLOUR": "red"}, user="root", cwd="/etc"))).stdout, "red\nroot\n/etc\n")
        failed = await error_of(e2b.CommandExitException, lambda: run("echo partial; exit 3"))
        same((failed.exit_code, failed.stdout, failed.error), (3, "partial\n", "exit status 3"))
        pieces = []
        await do(run("for i in 1 2 3; do echo $i; sleep 0.1; done", on_stdout=pieces.append))
        same("".join(pieces), "1\n2\n3\n")
        await error_of(e2b.TimeoutException, lambda: run("sleep 60", timeout=0.7))
        same((await do(run("sleep 0.5; echo fine", timeout=0))).stdout, "fine\n")
        await error_of(e2b.InvalidArgumentException, lambda: run("true", cwd="/does/not/exist"))
        await error_of(e2b.AuthenticationException, lambda: run("true", user="nobody-here"))


async def background_and_stdin(flavour):
    do, eventually = _tools()
    async with sandbox_of(flavour) as sandbox:
        api = sandbox.commands
        sleeper = await do(api.run("sleep 300", background=True, envs={"A": "b"}, cwd="/tmp"))
        listed = [entry for entry in await do(api.list()) if entry.pid == sleeper.pid]
        seen = [(entry.cmd, entry.args, entry.envs, entry.cwd, entry.tag) for entry in listed]
        same(seen, [("/bin/bash", ["-l", "-c", "sleep 300"], {"A": "b"}, "/tmp", None)])
        same(await do(sleeper.kill()), True)

        async def gone():
            return sleeper.pid not in [entry.pid for entry in await do(api.list())]

        await eventually("the killed command is not listed", gone)
        same(await do(api.kill(sleeper.pid)), False)

        cat = await do(api.run("cat", background=True, stdin=True))
        await do(api.send_stdin(cat.pid, "first\n"))
        await do(api.send_stdin(cat.pid, b"second\n"))
        await do(cat.send_stdin("third\n"))
        await do(cat.close_stdin())
        same((await do(cat.wait())).stdout, "first\nsecond\nthird\n")


async def kill(flavour):
    """By pid, of a command that somebody waits for."""
    do, _ = _tools()
    async with sandbox_of(flavour) as sandbox:
        sleeper = await do(sandbox.commands.run("sleep 300 && echo done", background=True))
        same(await do(sandbox.commands.kill(sleeper.pid)), True)
        ended = await error_of(e2b.CommandExitException, sleeper.wait)
        same((ended.exit_code, ended.error, ended.stdout), (-1, "signal: killed", ""))
        same(await do(sandbox.commands.kill(NOBODY)), False)


async def connect(flavour):
    """To a command that another client started and left."""
    do, _ = _tools()
    async with sandbox_of(flavour) as sandbox:
        api = sandbox.commands
        script = "while read line; do echo got $line; echo note >&2; done; exit 4"
        started = await do(api.run(script, background=True, stdin=True))
        await do(started.disconnect())
        handle = await do(api.connect(started.pid))
        same(handle.pid, started.pid)
        await do(api.send_stdin(handle.pid, "one\n"))
        await do(api.close_stdin(handle.pid))
        ended = await error_of(e2b.CommandExitException, handle.wait)
        same((ended.exit_code, ended.stdout, ended.stderr), (4, "got one\n", "note\n"))

        # The time limit of a connection is the connection's alone.
        sleeper = await do(api.run("sleep 300", background=True, timeout=0))
        same((await do(api.connect(sleeper.pid, timeout=0))).pid, sleeper.pid)
        brief = await do(api.connect(sleeper.pid, timeout=0.5))
        await error_of(e2b.TimeoutException, brief.wait)
        same(await do(sandbox.commands.kill(sleeper.pid)), True)
        await error_of(e2b.NotFoundException, lambda: api.connect(NOBODY))


async def streamed_input(flavour):
    do, _ = _tools()
    async with sandbox_of(flavour) as sandbox:
        cat = await do(sandbox.commands.run("cat", background=True, stdin=True))
        lines = [f"line {number}\n" for number in range(200)]
        await flavour.feed(sandbox.commands, cat.pid, lines)
        await do(sandbox.commands.close_stdin(cat.pid))
        same((await do(cat.wait())).stdout, "".join(lines))
        with raises(e2b.NotFoundException):
            await flavour.feed(sandbox.commands, NOBODY, ["x"])


async def request_timeout(flavour):
    """Input that the command does not take keeps the request waiting for as long as the caller allows."""
    do, _ = _tools()
    async with sandbox_of(flavour) as sandbox:
        api = sandbox.commands
        sleeper = await do(api.run("sleep 300", background=True, stdin=True))
        too_much = "x" * 1_000_000
        await error_of(e2b.TimeoutException, lambda: api.send_stdin(sleeper.pid, too_much, request_timeout=0.5))
        same(await do(api.kill(sleeper.pid)), True)


async def terminal(flavour):
    do, _ = _tools()
    async with sandbox_of(flavour) as sandbox:
        handle, finish = await flavour.terminal(sandbox, e2b.PtySize(rows=30, cols=90))
        await do(sandbox.pty.send_stdin(handle.pid, b"stty size; echo sum-$((40+2))\n"))
        await do(sandbox.pty.resize(handle.pid, e2b.PtySize(rows=43, cols=132)))
        await do(sandbox.pty.send_stdin(handle.pid, b"stty size\nexit\n"))
        shown = await finish()
        assert "sum-42" in shown and "43 132" in shown, shown


async def terminal_of_somebody(flavour):
    """A user, a directory and variables of the caller's choice; no time limit."""
    do, _ = _tools()
    async with sandbox_of(flavour) as sandbox:
        options = {"user": "root", "cwd": "/etc", "envs": {"GREETING": "ahoj"}, "timeout": 0}
        handle, finish = await flavour.terminal(sandbox, e2b.PtySize(rows=24, cols=80), **options)
        await do(sandbox.pty.send_stdin(handle.pid, b"echo $(id -un):$PWD:$GREETING-$TERM-$LANG; exit\n"))
        shown = await finish()
        assert "root:/etc:ahoj-xterm-256color-C.UTF-8\r\n" in shown, shown


async def connected_terminal(flavour):
    do, eventually = _tools()
    async with sandbox_of(flavour) as sandbox:
        pty = sandbox.pty
        left, _ = await flavour.terminal(sandbox, e2b.PtySize(rows=24, cols=80))
        await do(left.disconnect())
        handle, finish = await flavour.connected_terminal(sandbox, left.pid)
        same(handle.pid, left.pid)
        await flavour.feed(pty, handle.pid, [b"echo str", b"eam-$((40", b"+2))\n", b"exit\n"])
        assert "stream-42\r\n" in await finish()

        killed, finish = await flavour.terminal(sandbox, e2b.PtySize(rows=24, cols=80))
        same(await do(pty.kill(killed.pid)), True)
        same((await error_of(e2b.CommandExitException, finish)).exit_code, -1)
        same(await do(pty.kill(killed.pid)), False)
        with raises(e2b.NotFoundException):
            await flavour.connected_terminal(sandbox, killed.pid + 1_000_000)
