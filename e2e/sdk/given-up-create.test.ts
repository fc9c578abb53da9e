import { afterAll, beforeAll, expect, test } from "bun:test";
import { AbortError, Sandbox, TimeoutError } from "@boxyard/sdk";
import { eventually } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";

const platform = usePlatform();

/** Stands between client and server, and keeps the answer to the first create of each key to itself. */
class AnswerKeeper {
  /** Ids of sandboxes whose answer was kept. */
  readonly kept: string[] = [];
  readonly url: string;
  private readonly server: ReturnType<typeof Bun.serve>;

  constructor(apiUrl: string) {
    const seen = new Set<string>();
    this.server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      idleTimeout: 0,
      fetch: async (request) => {
        const { pathname, search } = new URL(request.url);
        const { method, headers } = request;
        const body = method === "GET" ? {} : { body: await request.text() };
        // Not under the client's signal: what it has sent has arrived.
        const answer = await fetch(apiUrl + pathname + search, { method, headers, ...body });
        const key = headers.get("idempotency-key");
        if (key === null || seen.has(key)) return answer;
        seen.add(key);
        this.kept.push(((await answer.json()) as { sandboxID: string }).sandboxID);
        return new Promise(() => {});
      },
    });
    this.url = this.server.url.href;
  }

  async close(): Promise<void> {
    await this.server.stop(true);
  }
}

let keeper: AnswerKeeper;
beforeAll(() => {
  keeper = new AnswerKeeper(platform().apiUrl);
});
afterAll(() => keeper.close());

const options = () => ({ apiUrl: keeper.url, apiKey: platform().apiKey });
const isThere = async (id: string) => (await platform().api({ path: `/sandboxes/${id}` })).status === 200;

test("a create that is aborted leaves no sandbox", async () => {
  const before = keeper.kept.length;
  const controller = new AbortController();
  const create = Sandbox.create({ ...options(), signal: controller.signal }).catch((error: unknown) => error);
  const id = await eventually("the sandbox was made", () => keeper.kept[before]);
  expect(await isThere(id)).toBe(true);
  controller.abort();
  expect(await create).toBeInstanceOf(AbortError);
  await eventually("it is gone", async () => !(await isThere(id)));
});

test("a create whose answer takes too long leaves no sandbox", async () => {
  const before = keeper.kept.length;
  const error = await Sandbox.create({ ...options(), requestTimeoutMs: 2000 }).catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(TimeoutError);
  const id = await eventually("the sandbox was made", () => keeper.kept[before]);
  await eventually("it is gone", async () => !(await isThere(id)));
  expect((await platform().api({ path: "/v2/sandboxes" })).body).toEqual([]);
});

test("one that its caller has named is kept, since the caller may come back for it", async () => {
  const before = keeper.kept.length;
  const controller = new AbortController();
  const named = { ...options(), idempotencyKey: `mine-${Date.now()}` };
  const create = Sandbox.create({ ...named, signal: controller.signal }).catch((error: unknown) => error);
  const id = await eventually("the sandbox was made", () => keeper.kept[before]);
  controller.abort();
  expect(await create).toBeInstanceOf(AbortError);
  await using again = await Sandbox.create(named);
  expect(again.sandboxId).toBe(id);
  expect((await again.commands.run("echo here")).stdout).toBe("here\n");
});
