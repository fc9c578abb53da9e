import { expect, test } from "bun:test";
import { join } from "node:path";
import { buildHelper } from "../../testing/build-helper.ts";
import { ChildProgram } from "./program.ts";
import { type Answer, AnswerReader, type Argument, STEP, type Step, writeOrder } from "./wire.ts";

const PARSER = buildHelper("fork-server", {
  sanitized: true,
  without: ["main.c", "child.c"],
  more: [join(import.meta.dir, "fixtures/parse-orders.c")],
});

/** `+` for each order that the helper would run, `-` for each that it refuses; fails when the parser reads outside of an order. */
async function parse(orders: readonly Uint8Array[]): Promise<string> {
  const parts = orders.flatMap((order) => [Buffer.from(new Uint32Array([order.byteLength]).buffer), order]);
  const child = Bun.spawn([PARSER], { stdin: Buffer.concat(parts), stdout: "pipe", stderr: "pipe" });
  const [out, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  expect([await child.exited, errors]).toEqual([0, ""]);
  return out;
}

function program(): ChildProgram {
  const made = new ChildProgram();
  const { read, write } = made.pipe();
  const fd = made.call("openat", [-100, "/proc/self/comm", 0, 0], "comm");
  const memory = new BigUint64Array(4);
  made.store(memory, 3, made.userNamespace("0 268435456 65536"));
  made.call("mount_setattr", [fd, "", 0x1000, memory, memory.byteLength]);
  made.call("write", [write, new Uint8Array(5), 5]);
  made.call("dup3", [read, 0, 0]);
  made.execute("/bin/sh", ["-c", "true"], { PATH: "/bin", A: "b" });
  return made;
}

const argument = (value: number | bigint, kind: Argument["kind"] = "immediate"): Argument => ({ kind, value: BigInt(value) });
const six = (...given: readonly Argument[]): Argument[] => Array.from({ length: 6 }, (_, i) => given[i] ?? argument(0));
const step = (number: number, ...given: readonly Argument[]): Step => ({ number, arguments: six(...given) });
const withSteps = (steps: readonly Step[], data = new Uint8Array(32)) =>
  writeOrder({ kind: "run", id: 1, wantsPid: false, cgroupAt: undefined, steps, data });
const texts = (text: string) => new TextEncoder().encode(text);

test("orders of the server are accepted", async () => {
  const orders = [
    program().order("run", 1),
    program().order("park", 2 ** 32 - 1),
    program().order("goOn", 3, { cgroup: "/sys/fs/cgroup/x", wantsPid: true }),
    new ChildProgram().order("kill", 4),
    withSteps([step(STEP.execute, argument(0), argument(2), argument(4), argument(1))], texts("a\0b\0c\0")),
    withSteps([step(STEP.store, argument(24), argument(-1))]),
    withSteps([step(0, argument(31, "data"), argument(28, "loaded"))]),
  ];
  expect(await parse(orders)).toBe("+".repeat(orders.length));
});

test("references, offsets and counts outside of an order are refused", async () => {
  const huge = 2n ** 63n - 1n;
  const programs: readonly (readonly Step[])[] = [
    [step(0, argument(0, "result"))],
    [step(0), step(0, argument(1, "result"))],
    [step(0), step(0, argument(-1, "result"))],
    ...[32, -1, huge, -huge].map((offset) => [step(0, argument(offset, "data"))]),
    ...[29, 2, 32, -4, huge].map((offset) => [step(0, argument(offset, "loaded"))]),
    ...[25, 4, 32, -8, huge].map((offset) => [step(STEP.store, argument(offset))]),
    [step(STEP.store, argument(0, "data"))],
    ...[32, -1, huge].map((place) => [step(STEP.userNamespace, argument(place))]),
    [step(STEP.userNamespace, argument(0, "data"))],
    [step(-4)],
    [step(-(2 ** 31))],
    // Programs: no text, more texts than the data has, an offset outside, and `execute` before the last step.
    [step(STEP.execute)],
    ...[33, -1, huge].map((count) => [step(STEP.execute, argument(0), argument(count))]),
    ...[33, -1, huge].map((count) => [step(STEP.execute, argument(0), argument(1), argument(0), argument(count))]),
    ...[32, -1, huge].map((place) => [step(STEP.execute, argument(place), argument(1))]),
    [step(STEP.execute, argument(0), argument(1)), step(0)],
    [step(STEP.execute, argument(0, "data"), argument(1))],
    Array.from({ length: 1025 }, () => step(0)),
  ];
  const orders = programs.map((steps) => withSteps(steps));
  expect(await parse(orders)).toBe("-".repeat(orders.length));
});

test("invalid heads, and data without a NUL at the end, are refused", async () => {
  const change = (at: number, ...values: readonly number[]) => {
    const order = program().order("run", 1, { cgroup: "/x" });
    order.set(values, at);
    return order;
  };
  const whole = program().order("run", 1);
  const most = [0xff, 0xff, 0xff, 0xff];
  const orders = [
    ...[0, 1, 23, 24, whole.byteLength - 1].map((size) => whole.subarray(0, size)),
    new Uint8Array([...whole, 0]),
    ...[0, 16, 20].map((at) => change(at, ...most)),
    change(4, 2),
    change(6, 0),
    change(6, 5),
    change(7, 2),
    change(12, 0xff, 0xff, 0xff, 0x7f),
    withSteps([], texts("no end")),
    writeOrder({ kind: "run", id: 1, wantsPid: false, cgroupAt: 0, steps: [], data: new Uint8Array(0) }),
  ];
  expect(await parse(orders)).toBe("-".repeat(orders.length));
});

test("the parser reads outside of none of thirty thousand orders with random changes", async () => {
  let state = 1;
  // The generator of Numerical Recipes: the same numbers in every run.
  const dice = (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const telling = [0, 1, 2, 3, 7, 8, 0x7f, 0x80, 0xff];
  const originals = [program().order("run", 1, { cgroup: "/x" }), program().order("park", 2), withSteps([step(0)])];
  const orders = Array.from({ length: 30_000 }, () => {
    const order = (originals[dice(originals.length)] as Uint8Array).slice();
    for (let changes = 1 + dice(4); changes > 0; changes--) order[dice(order.length)] = telling[dice(telling.length)] ?? dice(256);
    return dice(8) === 0 ? order.subarray(0, dice(order.length)) : order;
  });
  const judged = await parse(orders);
  expect(judged).toHaveLength(orders.length);
  // Both results occur often; otherwise the changes would be too small or too large to test the parser.
  expect(Math.min(judged.split("+").length, judged.split("-").length)).toBeGreaterThan(1_000);
});

test("answers are read whole, wherever the stream is split", () => {
  const bytes = new Uint8Array(new Int32Array([1, 1, 77, 0, 2, 2, 0, 0, 3, 3, 256, 700, 4, 4, -2, 13]).buffer);
  const wanted: Answer[] = [
    { id: 1, what: "started", pid: 77 },
    { id: 2, what: "ready" },
    { id: 3, what: "ended", status: 256, cpuMicroseconds: 700 },
    { id: 4, what: "failed", step: -2, errno: 13 },
  ];
  for (let size = 1; size <= bytes.length; size++) {
    const reader = new AnswerReader();
    const read: Answer[] = [];
    for (let at = 0; at < bytes.length; at += size) read.push(...reader.push(bytes.subarray(at, at + size)));
    expect(read).toEqual(wanted);
  }
  expect(() => new AnswerReader().push(new Uint8Array(16).fill(9))).toThrow("the fork server answers");
});
