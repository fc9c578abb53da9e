"""What the published Python client must see of pauses. Each function is one test, for both of its flavours."""
from scenarios import _tools, same, sandbox_of


async def pause_and_resume(flavour):
    """With its memory: a counter in a process goes on; the second pause says that it was one already."""
    do, eventually = _tools()
    async with sandbox_of(flavour) as sandbox:
        sandbox_id = sandbox.sandbox_id
        await do(sandbox.files.write("kept.txt", "kept"))
        count = "import time\nn = 0\nwhile True:\n    n += 1\n    open('/tmp/count', 'w').write(str(n))\n    time.sleep(0.05)"
        await do(sandbox.files.write("count.py", count))
        counter = await do(sandbox.commands.run("exec python3 count.py", background=True))
        await eventually("it counts", lambda: sandbox.files.exists("/tmp/count"))
        same(await do(sandbox.pause()), True)
        same(await do(sandbox.pause()), False)
        same((await do(sandbox.get_info())).state.value, "paused")
        same(await do(sandbox.is_running()), False)
        resumed = await do(flavour.Sandbox.connect(sandbox_id, timeout=120))
        same(resumed.sandbox_id, sandbox_id)
        same(await do(resumed.files.read("kept.txt")), "kept")
        read = lambda: resumed.commands.run("cat /tmp/count")
        before = (await do(read())).stdout

        async def goes_on():
            return (await do(read())).stdout != before

        await eventually("it counts on", goes_on)
        same(await do(resumed.commands.kill(counter.pid)), True)


async def auto_pause(flavour):
    do, eventually = _tools()
    sandbox = await do(flavour.Sandbox.create(timeout=120, lifecycle={"on_timeout": "pause"}))
    try:
        await do(sandbox.files.write("kept.txt", "kept"))
        await do(sandbox.set_timeout(0))

        async def is_paused():
            return (await do(sandbox.get_info())).state.value == "paused"

        await eventually("it is paused", is_paused, 30)
        resumed = await do(flavour.Sandbox.connect(sandbox.sandbox_id, timeout=120))
        same(await do(resumed.files.read("kept.txt")), "kept")
    finally:
        await do(sandbox.kill())


async def traffic_wakes(flavour):
    """With `auto_resume` the next request to a sandbox that was paused brings it back."""
    do, eventually = _tools()
    sandbox = await do(flavour.Sandbox.create(timeout=120, lifecycle={"on_timeout": "pause", "auto_resume": True}))
    try:
        sleeper = await do(sandbox.commands.run("exec sleep 1000", background=True))
        await do(sandbox.set_timeout(0))

        async def is_paused():
            return (await do(sandbox.get_info())).state.value == "paused"

        await eventually("it is paused", is_paused, 30)

        async def is_woken():
            """A request that comes while the pause is still under way may be answered before it, or be broken off."""
            try:
                found = await do(sandbox.commands.list())
            except Exception:
                return False
            return sleeper.pid in [entry.pid for entry in found] and (await do(sandbox.get_info())).state.value == "running"

        await eventually("a request wakes it", is_woken)
    finally:
        await do(sandbox.kill())


async def disk_only(flavour):
    """Without its memory it boots again: files are there, processes are not."""
    do, _ = _tools()
    async with sandbox_of(flavour, envs={"COLOUR": "green"}) as sandbox:
        await do(sandbox.files.write("kept.txt", "kept"))
        await do(sandbox.commands.run("exec sleep 1000", background=True))
        same(await do(sandbox.pause(mode="filesystem")), True)
        resumed = await do(flavour.Sandbox.connect(sandbox.sandbox_id, timeout=120))
        same(await do(resumed.files.read("kept.txt")), "kept")
        same([entry.pid for entry in await do(resumed.commands.list())], [])
        same((await do(resumed.commands.run("echo $COLOUR"))).stdout, "green\n")


async def fork_and_snapshot(flavour):
    """Copies and sandboxes of a snapshot go on where the source stood, with ids of their own; the source goes on too."""
    do, eventually = _tools()
    async with sandbox_of(flavour) as sandbox:
        await do(sandbox.files.write("work.txt", "done"))
        count = "n=0; while n=$((n+1)); do echo $n > /tmp/count; sleep 0.05; done"
        await do(sandbox.commands.run(count, background=True))
        await eventually("it counts", lambda: sandbox.files.exists("/tmp/count"))

        async def is_a_copy(of):
            same(of.sandbox_id != sandbox.sandbox_id, True)
            same(await do(of.files.read("work.txt")), "done")
            same((await do(of.commands.run("hostname"))).stdout.strip(), of.sandbox_id)
            before = (await do(of.commands.run("cat /tmp/count"))).stdout

            async def goes_on():
                return (await do(of.commands.run("cat /tmp/count"))).stdout != before

            await eventually("it counts on", goes_on)

        copies = await do(sandbox.fork(count=2))
        same(len(copies), 2)
        for copy in copies:
            await is_a_copy(copy)
            same(await do(copy.kill()), True)
        snapshot = await do(sandbox.create_snapshot())
        pages = flavour.Sandbox.list_snapshots(sandbox_id=sandbox.sandbox_id)
        same([one.snapshot_id for one in await do(pages.next_items())], [snapshot.snapshot_id])
        clone = await do(flavour.Sandbox.create(snapshot.snapshot_id, envs={"OF": "clone"}))
        try:
            await is_a_copy(clone)
            same((await do(clone.commands.run("echo $OF"))).stdout, "clone\n")
        finally:
            await do(clone.kill())
        same(await do(flavour.Sandbox.delete_snapshot(snapshot.snapshot_id)), True)
        same(await do(flavour.Sandbox.delete_snapshot(snapshot.snapshot_id)), False)
        # Its disk alone, under a name that others start from.
        name = f"named-{sandbox.sandbox_id}"
        named = await do(sandbox.create_snapshot(name=name, mode="filesystem"))
        same(any(name in one for one in named.names), True)
        booted = await do(flavour.Sandbox.create(name))
        try:
            same(await do(booted.files.read("work.txt")), "done")
            same([entry.pid for entry in await do(booted.commands.list())], [])
        finally:
            await do(booted.kill())
        same(await do(flavour.Sandbox.delete_snapshot(named.snapshot_id)), True)
