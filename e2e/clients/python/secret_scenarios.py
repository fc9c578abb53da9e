"""What the published Python client must see of secrets. Each function is one test, for both of its flavours."""
import uuid

import e2b

from scenarios import _tools, same


async def secret_life(flavour):
    """Stored, changed, listed and deleted; no answer has a value."""
    do, _ = _tools()
    kind = e2b.AsyncSecret if flavour.is_async else e2b.Secret
    name = f"Secret-{uuid.uuid4()}"
    created = await do(kind.create(name, "a value", metadata={"owner": "me"}))
    try:
        same([created.name, created.version, created.metadata], [name.lower(), 1, {"owner": "me"}])
        updated = await do(kind.update(name, "another value"))
        same([updated.secret_id, updated.version, updated.metadata], [created.secret_id, 2, {"owner": "me"}])
        same((await do(kind.get_info(created.secret_id))).version, 2)
        same(await do(kind.exists(name)), True)
        paginator = kind.list(limit=100)
        seen = []
        while paginator.has_next:
            seen += await do(paginator.next_items())
        same(any(entry.secret_id == created.secret_id for entry in seen), True)
    finally:
        same(await do(kind.destroy(name)), True)
    same(await do(kind.destroy(name)), False)
    same(await do(kind.exists(name)), False)
