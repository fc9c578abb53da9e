import { afterAll, beforeAll, expect, test } from "bun:test";
import { bootPlatform, type Platform } from "@boxyard/testkit";

/** The real server with the real driver, which is killed at arbitrary moments and started again. */
let platform: Platform;
beforeAll(async () => {
  platform = await bootPlatform();
}, 60_000);
afterAll(() => platform?.[Symbol.asyncDispose](), 60_000);

const create = () => platform.api({ method: "POST", path: "/v2/sandboxes", body: { templateID: "base" } });
const listed = async () =>
  ((await platform.api({ path: "/v2/sandboxes" })).body as { sandboxID: string }[]).map(({ sandboxID }) => sandboxID);

async function health(sandboxID: string): Promise<number> {
  const reply = await fetch(`${platform.apiUrl}/health`, { headers: { "Svc-Sandbox-Id": sandboxID, "Svc-Sandbox-Port": "49983" } });
  await reply.body?.cancel();
  return reply.status;
}

test("a server killed in the middle of creates and kills leaves whole sandboxes or none", async () => {
  const first = (await create()).body as { sandboxID: string };
  const kept = new Set([first.sandboxID]);
  for (let round = 0; round < 8; round++) {
    const answers = Promise.all(
      Array.from({ length: 3 }, () =>
        create().then(
          (reply) => (reply.status === 201 ? (reply.body as { sandboxID: string }).sandboxID : undefined),
          () => undefined,
        ),
      ),
    );
    const victim = [...kept].find((id) => id !== first.sandboxID);
    const kill = victim ? platform.api({ method: "DELETE", path: `/sandboxes/${victim}` }).catch(() => undefined) : undefined;
    await Bun.sleep(5 + round * 15);
    await platform.kill9();
    for (const id of await answers) if (id) kept.add(id);
    await kill;
    await platform.restart();
    const alive = await listed();
    // Every sandbox whose create was answered lives, except the victim, whose removal may have begun.
    for (const id of kept) if (id !== victim) expect(alive).toContain(id);
    for (const id of alive) expect([id, await health(id)]).toEqual([id, 204]);
    kept.clear();
    for (const id of alive) kept.add(id);
  }
  expect(kept.has(first.sandboxID)).toBe(true);
  for (const id of kept) expect((await platform.api({ method: "DELETE", path: `/sandboxes/${id}` })).status).toBe(204);
  expect(await listed()).toEqual([]);
}, 120_000);
