import { expect, test } from "bun:test";
import { FakeClock, type TeamId, type TemplateId } from "@boxyard/core";
import type { Store, TemplateRecord } from "../store/index.ts";
import { Templates } from "./registry.ts";

const record = (id: string): TemplateRecord => ({
  id: id as TemplateId,
  teamId: "team" as TeamId,
  namespace: "default",
  isPublic: false,
  createdAt: 0,
  updatedAt: 0,
  spawnCount: 0,
});

/** A store whose answers come when the test says so; each is what was there when it was asked. */
class SlowStore {
  content: TemplateRecord[] = [];
  readonly asked: (() => void)[] = [];

  async list(): Promise<TemplateRecord[]> {
    const { content } = this;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.asked.push(resolve);
    await promise;
    return content;
  }

  listVersions = async () => [];
}

test("reads that overlap never bring back what was before a change", async () => {
  const slow = new SlowStore();
  const templates = new Templates({ templates: slow } as unknown as Store, new FakeClock());
  const first = templates.load();
  while (slow.asked.length === 0) await Bun.sleep(0);
  slow.content = [record("new")];
  const [second, third] = [templates.load(), templates.load()];
  let isDone = false;
  const both = Promise.all([second, third]).then(() => {
    isDone = true;
  });
  // The later read's answer comes first, if it has been asked for at all.
  slow.asked[1]?.();
  await Bun.sleep(0);
  slow.asked[0]?.();
  await first;
  while (!isDone) {
    slow.asked.at(-1)?.();
    await Bun.sleep(0);
  }
  await both;
  expect(templates.get("new" as TemplateId)).toBeDefined();
  // Those that wait for the same moment share a read.
  expect(slow.asked).toHaveLength(2);
});

test("a read that failed does not keep later ones from it", async () => {
  let broken = true;
  const list = async () => {
    if (broken) throw new Error("away");
    return [record("one")];
  };
  const templates = new Templates({ templates: { list, listVersions: async () => [] } } as unknown as Store, new FakeClock());
  await expect(templates.load()).rejects.toThrow("away");
  broken = false;
  await templates.load();
  expect(templates.get("one" as TemplateId)).toBeDefined();
});
