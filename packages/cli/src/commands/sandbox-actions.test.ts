import { afterEach, expect, spyOn, test } from "bun:test";
import { Sandbox } from "@boxyard/sdk";
import { Sandboxes } from "@boxyard/sdk/sandboxes";
import type { CliContext } from "../context.ts";
import { fork, pause, resume, rollback } from "./sandbox-actions.ts";

const ID = `i${"a".repeat(20)}`;
const context = {
  config: { apiUrl: "http://127.0.0.1:9", apiKey: "e2b_00", listen: "127.0.0.1:1" },
  output: { note() {}, line: async () => {} },
} as unknown as CliContext;

const spies: { mockRestore(): void }[] = [];
afterEach(() => {
  for (const spy of spies.splice(0)) spy.mockRestore();
});

/** Each writes or reads all memory of a sandbox: longer than other requests may take. */
test.each([
  ["pausing", Sandboxes, "pause", () => pause(ID, { memory: true }, context)],
  ["resuming", Sandbox, "connect", () => resume(ID, { timeout: 300 }, context)],
  ["forking", Sandbox, "fork", () => fork(ID, { count: 1, timeout: 300 }, context)],
  ["rolling", Sandboxes, "rollback", () => rollback(ID, "ready", context)],
] as const)("%s is waited for ten minutes, and a terminal shows that it is under way", async (word, api, verb, run) => {
  const asked = spyOn(api as Record<string, (...words: never[]) => unknown>, verb).mockImplementation((async () =>
    Object.assign([], { volumes: [] })) as never);
  const said = spyOn(process.stderr, "write").mockImplementation(() => true);
  const terminal = Object.getOwnPropertyDescriptor(process.stderr, "isTTY");
  Object.defineProperty(process.stderr, "isTTY", { value: true, configurable: true });
  const restore = () => Object.defineProperty(process.stderr, "isTTY", terminal ?? { value: undefined, configurable: true });
  spies.push(asked, said, { mockRestore: restore });
  await run();
  expect(asked.mock.calls[0]?.at(-1)).toMatchObject({ requestTimeoutMs: 600_000 });
  expect(said.mock.calls.map(([text]) => String(text)).join("")).toContain(`${word} ${ID}`);
});

test("a rollback says which volumes it has not set back", async () => {
  const volumes = [
    { name: "data", path: "/data", readOnly: false },
    { name: "cache", path: "/var/cache", readOnly: true },
  ];
  spies.push(spyOn(Sandboxes, "rollback").mockImplementation(async () => ({ volumes })));
  const said: string[] = [];
  const output = { ...context.output, note: (text: string) => said.push(text) };
  await rollback(ID, "ready", { ...context, output } as unknown as CliContext);
  expect(said.at(-1)).toBe("not set back: volume data at /data, volume cache at /var/cache");
});
