"""What the published Python client must see of an agent alone, which `E2B_SANDBOX_URL` names; the debug mode asks no platform."""
import e2b

from scenarios import _tools, error_of


async def network_mount(flavour):
    """/home/fuse is one."""
    do, _ = _tools()
    sandbox = await do(flavour.Sandbox.create(debug=True))
    refused = await error_of(e2b.InvalidArgumentException, lambda: flavour.watch(sandbox, "/home/fuse"))
    assert "network filesystem: /home/fuse" in str(refused), refused
    handle, _ = await flavour.watch(sandbox, "/home/fuse", allow_network_mounts=True)
    await do(handle.stop())
