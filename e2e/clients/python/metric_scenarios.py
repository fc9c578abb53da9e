"""What the published Python client must see of metrics. Each function is one test, for both of its flavours."""
import datetime

from scenarios import _tools, same, sandbox_of


async def metrics(flavour):
    """Samples come by themselves, with what the sandbox uses; a range before its create has none."""
    do, eventually = _tools()
    async with sandbox_of(flavour) as sandbox:
        # One for each processor: on a busy machine a single one gets only a small part of one processor.
        for _ in range(2):
            await do(sandbox.commands.run("python3 -c 'while True: pass'", background=True))

        async def busy():
            return [one for one in await do(sandbox.get_metrics()) if one.cpu_used_pct > 5]

        sample = (await eventually("a sample shows the program", busy, 30.0))[0]
        same((sample.cpu_count, sample.mem_total), (2, 2**30))
        same(0 < sample.mem_used < sample.mem_total and sample.disk_used <= sample.disk_total, True)
        now = datetime.datetime.now(datetime.timezone.utc)
        hour = datetime.timedelta(hours=1)
        same(await do(sandbox.get_metrics(start=now - 2 * hour, end=now - hour)), [])
