"""What the published Python client must see of files and of watching them. Each function is one test, for both of its flavours."""
import datetime
import io

import e2b

from scenarios import _tools, error_of, same, sandbox_of


def _pieces(flavour, data):
    """The data in pieces, as each flavour takes them."""
    pieces = (data[at : at + 9999] for at in range(0, len(data), 9999))

    async def later():
        for piece in pieces:
            yield piece

    return later() if flavour.is_async else pieces


async def files(flavour):
    do, _ = _tools()
    async with sandbox_of(flavour) as sandbox:
        api = sandbox.files
        written = await do(api.write("notes.txt", "hello\n"))
        same((written.path, written.name, written.type), ("/home/user/notes.txt", "notes.txt", e2b.FileType.FILE))
        same(await do(api.read("notes.txt")), "hello\n")
        data = bytes(range(256)) * 1000
        await do(api.write("/tmp/deep/bytes.bin", data))
        same(bytes(await do(api.read("/tmp/deep/bytes.bin", format="bytes"))), data)
        stream = await do(api.read("/tmp/deep/bytes.bin", format="stream"))
        joined = b"".join([chunk async for chunk in stream]) if flavour.is_async else b"".join(stream)
        same(joined, data)
        await do(api.write("packed.txt", "gzip " * 1000, gzip=True))
        same(await do(api.read("packed.txt", gzip=True)), "gzip " * 1000)
        for raw in (True, False):
            await do(api.write("opened.bin", io.BytesIO(data), use_octet_stream=raw))
            same(bytes(await do(api.read("opened.bin", format="bytes"))), data)
        await do(api.write("pieces.bin", _pieces(flavour, data), use_octet_stream=True))
        same(bytes(await do(api.read("pieces.bin", format="bytes"))), data)
        await do(api.write("empty", ""))
        same((await do(api.read("empty")), await do(api.write_files([]))), ("", []))
        several = await do(api.write_files([{"path": "a/one.txt", "data": "1"}, {"path": "/tmp/two.txt", "data": b"2"}]))
        same([entry.path for entry in several], ["/home/user/a/one.txt", "/tmp/two.txt"])
        same((await do(api.read("a/one.txt")), await do(api.read("/tmp/two.txt"))), ("1", "2"))
        await do(api.write("tagged.txt", "x", metadata={"origin": "test"}))
        same((await do(api.get_info("tagged.txt"))).metadata, {"origin": "test"})


async def of_another_user(flavour):
    do, _ = _tools()
    async with sandbox_of(flavour) as sandbox:
        api = sandbox.files
        same((await do(api.write("mine.txt", "root's", user="root"))).path, "/root/mine.txt")
        same((await do(api.read("mine.txt", user="root")), await do(api.exists("mine.txt"))), ("root's", False))
        same((await do(api.get_info("mine.txt", user="root"))).owner, "root")
        same(await do(api.make_dir("directory", user="root")), True)
        same((await do(api.rename("mine.txt", "directory/moved", user="root"))).path, "/root/directory/moved")
        same([entry.path for entry in await do(api.list("directory", user="root"))], ["/root/directory/moved"])
        await do(api.remove("directory", user="root"))
        same(await do(api.exists("directory", user="root")), False)
        await error_of(e2b.AuthenticationException, lambda: api.read("x", user="nobody-here"))
        await error_of(e2b.AuthenticationException, lambda: api.list(".", user="nobody-here"))


async def tree(flavour):
    """make_dir, list with depth, get_info, rename, exists, remove."""
    do, _ = _tools()
    async with sandbox_of(flavour) as sandbox:
        api = sandbox.files
        same((await do(api.make_dir("work/inner")), await do(api.make_dir("work/inner"))), (True, False))
        before = datetime.datetime.now(datetime.timezone.utc)
        await do(api.write("work/notes.txt", "hello\n"))
        await do(api.write("work/inner/deep.txt", "d"))
        one = ["/home/user/work/inner", "/home/user/work/notes.txt"]
        two = ["/home/user/work/inner", "/home/user/work/inner/deep.txt", "/home/user/work/notes.txt"]
        same([entry.path for entry in await do(api.list("work"))], one)
        same([entry.path for entry in await do(api.list("work", depth=1))], one)
        same([entry.path for entry in await do(api.list("work", depth=2))], two)
        await error_of(e2b.InvalidArgumentException, lambda: api.list("work", depth=0))

        info = await do(api.get_info("work/notes.txt"))
        same((info.name, info.path, info.type), ("notes.txt", "/home/user/work/notes.txt", e2b.FileType.FILE))
        same((info.size, info.mode, info.permissions), (6, 0o644, "-rw-r--r--"))
        same((info.owner, info.group, info.symlink_target, info.metadata or {}), ("user", "user", None, {}))
        assert abs(info.modified_time - before).total_seconds() < 60, info.modified_time
        directory = await do(api.get_info("work"))
        same((directory.type, directory.mode, directory.permissions), (e2b.FileType.DIR, 0o755, "drwxr-xr-x"))

        same((await do(api.rename("work/notes.txt", "work/new/moved.txt"))).path, "/home/user/work/new/moved.txt")
        same((await do(api.exists("work/notes.txt")), await do(api.exists("work/new/moved.txt"))), (False, True))
        await do(api.remove("work"))
        await do(api.remove("work"))
        same(await do(api.exists("work")), False)


async def links(flavour):
    """A link is of the type SYMLINK only because its entry says `isSymlink`, whatever it points to.

    The client's list leaves out entries whose type it does not know, and so a link to nothing; get_info shows that too.
    """
    do, _ = _tools()
    async with sandbox_of(flavour) as sandbox:
        await do(sandbox.commands.run("ln -s none c && mkdir l && cd l && echo x > file && mkdir dir && ln -s file a && ln -s dir b"))
        listed = {entry.name: (entry.type, entry.symlink_target) for entry in await do(sandbox.files.list("l"))}
        wanted = {
            "a": (e2b.FileType.SYMLINK, "/home/user/l/file"),
            "b": (e2b.FileType.SYMLINK, "/home/user/l/dir"),
            "dir": (e2b.FileType.DIR, None),
            "file": (e2b.FileType.FILE, None),
        }
        same(listed, wanted)
        for path in ("l/a", "l/b", "c"):
            info = await do(sandbox.files.get_info(path))
            same((info.type, info.permissions), (e2b.FileType.SYMLINK, "Lrwxrwxrwx"))
        same((await do(sandbox.files.rename("l/a", "l/z"))).type, e2b.FileType.SYMLINK)


async def errors_of_files(flavour):
    do, _ = _tools()
    async with sandbox_of(flavour) as sandbox:
        api = sandbox.files
        for call in (
            lambda: api.read("missing"),
            lambda: api.list("missing"),
            lambda: api.get_info("missing"),
            lambda: api.rename("missing", "x"),
            lambda: flavour.watch(sandbox, "missing"),
        ):
            await error_of(e2b.FileNotFoundException, call)
        await do(api.write("file", "x"))
        for call in (
            lambda: api.read("/tmp"),
            lambda: api.write("/tmp", "x"),
            lambda: api.list("file"),
            lambda: api.make_dir("file"),
            lambda: flavour.watch(sandbox, "file"),
        ):
            await error_of(e2b.InvalidArgumentException, call)
        # The smallest file system of a sandbox holds 64 MiB.
        await error_of(e2b.NotEnoughSpaceException, lambda: api.write("/dev/big", b"x" * 70_000_000, user="root"))


async def watch(flavour):
    do, eventually = _tools()
    async with sandbox_of(flavour) as sandbox:
        await do(sandbox.files.make_dir("watched"))
        handle, seen = await flavour.watch(sandbox, "watched", recursive=True)
        has = lambda *event: lambda: event in [(each.type.value, each.name) for each in seen()]
        await do(sandbox.files.write("watched/a.txt", "1"))
        await eventually("the file's creation", has("create", "a.txt"))
        await eventually("what was written", has("write", "a.txt"))
        await do(sandbox.commands.run("chmod 600 watched/a.txt; mkdir -p watched/later/still; touch watched/later/still/in"))
        await eventually("the change of mode", has("chmod", "a.txt"))
        await eventually("a file in a directory made later", has("create", "later/still/in"))
        await do(sandbox.files.rename("watched/a.txt", "watched/b.txt"))
        await eventually("the file's old name", has("rename", "a.txt"))
        await eventually("the file's new name", has("create", "b.txt"))
        await do(sandbox.files.remove("watched/b.txt"))
        await eventually("the file's removal", has("remove", "b.txt"))
        same({each.entry for each in seen()}, {None})
        await do(handle.stop())


async def watch_with_entries(flavour):
    do, eventually = _tools()
    async with sandbox_of(flavour) as sandbox:
        await do(sandbox.commands.run("mkdir /root/watched", user="root"))
        handle, seen = await flavour.watch(sandbox, "watched", user="root", include_entry=True)
        await do(sandbox.files.write("/root/watched/a.txt", "12345", user="root"))
        of = lambda kind, name: [each.entry for each in seen() if (each.type.value, each.name) == (kind, name)]
        await eventually("what was written", lambda: of("write", "a.txt"))
        entry = of("write", "a.txt")[-1]
        same((entry.path, entry.type, entry.size, entry.owner), ("/root/watched/a.txt", e2b.FileType.FILE, 5, "root"))
        await do(sandbox.files.remove("watched/a.txt", user="root"))
        await eventually("the file's removal", lambda: of("remove", "a.txt"))
        same(of("remove", "a.txt"), [None])
        await do(handle.stop())


async def end_of_a_watch(flavour):
    """The asynchronous client gets an end that it has not asked for; the synchronous one, which asks, gets an error."""
    do, eventually = _tools()
    async with sandbox_of(flavour) as sandbox:
        if not flavour.is_async:
            handle, seen = await flavour.watch(sandbox, "/home/user")
            same(seen(), [])
            handle.stop()
            await error_of(e2b.SandboxException, seen)
            return
        ends = []
        await flavour.watch(sandbox, "/home/user", on_exit=ends.append, timeout=0.5)
        await eventually("the end at the time limit", lambda: ends)
        await flavour.watch(sandbox, "/home/user", on_exit=ends.append, timeout=0)
        await sandbox.kill()
        await eventually("the end with the sandbox", lambda: len(ends) == 2)
        same([type(end) for end in ends], [e2b.TimeoutException, e2b.SandboxNotRunningException])


async def polls_have_what_was_done_before(flavour):
    do, _ = _tools()
    # Only the synchronous client asks for events; the other gets them by themselves.
    if flavour.is_async:
        return
    async with sandbox_of(flavour) as sandbox:
        await do(sandbox.files.make_dir("watched"))
        handle = await do(sandbox.files.watch_dir("watched", recursive=True))
        for i in range(150):
            await do(sandbox.files.write(f"watched/f{i}", "x"))
            await do(sandbox.files.make_dir(f"watched/d{i}/e"))
            await do(sandbox.files.write(f"watched/d{i}/e/f", "x"))
            created = {event.name for event in handle.get_new_events() if event.type.value == "create"}
            same(created, {f"f{i}", f"d{i}", f"d{i}/e", f"d{i}/e/f"})
        handle.stop()
