import { describe, expect, test } from "bun:test";
import { eventually } from "@boxyard/testkit";
import { holdAt, Place, sidesOf } from "../../testing/place.ts";
import type { TestServer } from "../../testing/test-server.ts";
import { pointsOf } from "../engine/transition.ts";
import { OPERATIONS } from "../operations.ts";
import { TRANSITIONS } from "../transitions/index.ts";

const BODY = { templateID: "base" };
const SETUP = { creator: "creator-of-the-first-one", leaseSeconds: 60 };

/** Each request whose client can ask again. */
const WAYS = {
  "under a key": (s: TestServer) => s.call("POST", "/v2/sandboxes", BODY, { "Idempotency-Key": "k" }),
  "under a key, with a name": (s: TestServer) => s.call("POST", "/v2/sandboxes", { ...BODY, name: "one" }, { "Idempotency-Key": "k" }),
  "by a name": (s: TestServer) => s.call("PUT", "/sandboxes/by-name/one", BODY),
  "by a name, with a set-up": (s: TestServer) => s.call("PUT", "/sandboxes/by-name/one", { ...BODY, setup: SETUP }),
} as const;

const sides = [OPERATIONS.createOnce, TRANSITIONS.create].flatMap((of) =>
  pointsOf(of).flatMap((point) => sidesOf(point, of).map((when) => [when, point] as const)),
);
const places = Object.keys(WAYS).flatMap((way) => sides.map((side) => [way as keyof typeof WAYS, ...side] as const));
const idOf = ({ body }: { body: unknown }) => {
  const { sandboxID, sandbox } = body as { sandboxID?: string; sandbox?: { sandboxID: string } };
  return sandboxID ?? sandbox?.sandboxID;
};

test.each(places)(
  "a create %s whose server is killed %s '%s' is told by the next server, and makes one sandbox",
  async (way, when, point) => {
    await using place = new Place();
    const { observer, reached } = holdAt(point, when);
    const first = await place.boot({ observer });
    const asked = WAYS[way](first).catch(() => undefined);
    const answered = asked.then((reply) => Promise.reject(new Error(`it was answered ${reply?.status}, and has not reached the point`)));
    await Promise.race([reached, answered]);
    answered.catch(() => {});
    await place.crash(first);
    await asked;
    const second = await place.boot();
    await second.server.adoption.removals;
    await second.server.sweep.once();
    const { operations } = second.server.context.store;
    const isDone = point === "createOnce result" && when === "after";
    expect([await operations.listUnfinished(), place.world.sandboxes.size]).toEqual([[], isDone ? 1 : 0]);
    const left = [...place.world.sandboxes.keys()];
    const again = await WAYS[way](second);
    expect(again.status).toBeLessThan(300);
    const id = idOf(again) as string;
    // What was done is told; what was undone is made.
    expect([...place.world.sandboxes.keys()]).toEqual([id]);
    if (isDone) expect(left).toEqual([id]);
    expect([idOf(await WAYS[way](second)), place.world.sandboxes.size]).toEqual([id, 1]);
  },
);

test.each(places)("a create %s that fails %s '%s' leaves nothing, and can be asked for again", async (way, when, point) => {
  await using place = new Place();
  let left = 1;
  const hook = (at: "before" | "after") => (name: string) => {
    if (name === point && at === when && left-- > 0) throw new Error("injected");
  };
  const s = await place.boot({ observer: { before: hook("before"), after: hook("after") } });
  expect((await WAYS[way](s)).status).toBe(500);
  await eventually("nothing is left", () => place.world.sandboxes.size === 0 && s.server.engine.sandboxes.all().length === 0);
  expect(await s.server.context.store.operations.listUnfinished()).toEqual([]);
  const again = await WAYS[way](s);
  expect(again.status).toBeLessThan(300);
  expect([...place.world.sandboxes.keys()]).toEqual([idOf(again) as string]);
});

describe("a create under a key", () => {
  test("that failed after its sandbox ran is not told after a crash during the removal", async () => {
    await using place = new Place();
    const { observer, reached } = holdAt("kill destroy");
    const fail = (point: string) => {
      if (point === "createOnce result") throw new Error("injected");
      return observer.before?.(point);
    };
    const first = await place.boot({ observer: { before: fail } });
    const asked = WAYS["under a key"](first).catch(() => undefined);
    await reached;
    await place.crash(first);
    await asked;
    const second = await place.boot();
    await second.server.adoption.removals;
    const again = await WAYS["under a key"](second);
    expect([again.status, [...place.world.sandboxes.keys()]]).toEqual([201, [idOf(again) as string]]);
  });

  test("is told what it was told before, also when its sandbox has ended", async () => {
    await using place = new Place();
    const s = await place.boot();
    const id = idOf(await WAYS["under a key"](s));
    expect((await s.call("DELETE", `/sandboxes/${id}`)).status).toBe(204);
    expect(idOf(await WAYS["under a key"](s))).toBe(id);
    expect(place.world.sandboxes.size).toBe(0);
  });
});
