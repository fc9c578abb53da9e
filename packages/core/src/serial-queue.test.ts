import { describe, expect, test } from "bun:test";
import { SerialQueue, SerialQueues } from "./serial-queue.ts";

/** Work that says when it begins and goes on when it is told to. */
function held(log: string[], name: string) {
  const gate = Promise.withResolvers<void>();
  const work = async () => {
    log.push(`${name} begins`);
    await gate.promise;
    log.push(`${name} ends`);
    return name;
  };
  return { work, go: gate.resolve, fail: gate.reject };
}

describe("a queue", () => {
  test("does one piece of work at a time, in order, and gives each its own result", async () => {
    const queue = new SerialQueue();
    const log: string[] = [];
    const [a, b] = [held(log, "a"), held(log, "b")];
    const done = [queue.run(a.work), queue.run(b.work)];
    b.go();
    await Promise.resolve();
    expect(log).toEqual(["a begins"]);
    a.go();
    expect(await Promise.all(done)).toEqual(["a", "b"]);
    expect(log).toEqual(["a begins", "a ends", "b begins", "b ends"]);
  });

  test("goes on behind work that failed, which only its own caller is told", async () => {
    const queue = new SerialQueue();
    const failing = queue.run(() => Promise.reject(new Error("no")));
    const next = queue.run(async () => "next");
    await expect(failing).rejects.toThrow("no");
    expect(await next).toBe("next");
  });
});

describe("queues by key", () => {
  test("keep the order of one key, and let others go on beside it", async () => {
    const queues = new SerialQueues<string>();
    const log: string[] = [];
    const [a, b, c] = [held(log, "a"), held(log, "b"), held(log, "c")];
    const done = Promise.all([queues.run("x", a.work), queues.run("x", b.work), queues.run("y", c.work)]);
    c.go();
    await queues.run("y", async () => log.push("behind c"));
    expect(log).toEqual(["a begins", "c begins", "c ends", "behind c"]);
    a.go();
    b.go();
    await done;
    expect(log.slice(4)).toEqual(["a ends", "b begins", "b ends"]);
  });

  test("forget a key when nothing is left to do for it", async () => {
    const queues = new SerialQueues<string>();
    const failing = queues.run("x", () => Promise.reject(new Error("no")));
    expect(queues.size).toBe(1);
    await failing.catch(() => {});
    await Promise.resolve();
    await Promise.resolve();
    expect(queues.size).toBe(0);
  });
});
