"""What the published Python client must see of volumes. Each function is one test, for both of its flavours."""
import uuid

import e2b

from scenarios import _tools, same, sandbox_of


async def volume_files_and_mounts(flavour):
    """Its files without a sandbox, and in a sandbox."""
    do, _ = _tools()
    kind = e2b.AsyncVolume if flavour.is_async else e2b.Volume
    name = f"volume-{uuid.uuid4()}"
    volume = await do(kind.create(name))
    try:
        same(any(entry.volume_id == volume.volume_id for entry in await do(kind.list())), True)
        await do(volume.write_file("/a.txt", "from outside", uid=1000, gid=1000))
        same(await do(volume.read_file("/a.txt")), "from outside")
        await do(volume.make_dir("/b/c", force=True))
        same(sorted(entry.path for entry in await do(volume.list("/", depth=2))), ["/a.txt", "/b", "/b/c"])
        same(await do(volume.exists("/none")), False)
        async with sandbox_of(flavour, volume_mounts={"/mnt/data": volume}) as sandbox:
            same(await do(sandbox.files.read("/mnt/data/a.txt")), "from outside")
            await do(sandbox.commands.run("echo from inside > /mnt/data/a.txt"))
        same(await do(volume.read_file("/a.txt")), "from inside\n")
        await do(volume.remove("/b"))
    finally:
        same(await do(kind.destroy(volume.volume_id)), True)
    same(await do(kind.destroy(volume.volume_id)), False)
