import { KernelError } from "@boxyard/core/errno";

/** Format of the messages to and from the fork server; `native/fork-server/fork-server.h` and `main.c` define the same in C. */

const VERSION = 1;
const HEAD_BYTES = 24;
export const ARGUMENTS = 6;
const STEP_BYTES = 8 + ARGUMENTS * 8;
const ANSWER_BYTES = 16;
const NO_CGROUP = 0xffff_ffff;

/** Longest orders, bytes: the fork server reads no longer ones (`MAX_ORDER` and `MAX_PARKED_ORDER` there). */
const MAX_BYTES: Readonly<Record<OrderKind, number>> = { run: 4 << 20, park: 4 << 20, goOn: 64 << 10, kill: 1 << 10 };
const E2BIG = 7;

/** Numbers of the steps that are not system calls. */
export const STEP = { execute: -1, store: -2, userNamespace: -3 } as const;

const ORDER = { run: 1, park: 2, goOn: 3, kill: 4 } as const;
export type OrderKind = keyof typeof ORDER;

const ARGUMENT = { immediate: 0, result: 1, data: 2, loaded: 3 } as const;
export interface Argument {
  readonly kind: keyof typeof ARGUMENT;
  readonly value: bigint;
}

export interface Step {
  readonly number: number;
  readonly arguments: readonly Argument[];
}

export interface Order {
  readonly kind: OrderKind;
  readonly id: number;
  readonly wantsPid: boolean;
  /** Offset of a path in the data. */
  readonly cgroupAt: number | undefined;
  readonly steps: readonly Step[];
  /** Ends with NUL. */
  readonly data: Uint8Array;
}

/** Throws E2BIG when the order is longer than `MAX_BYTES`, which the actions of a sandbox can cause. */
export function writeOrder({ kind, id, wantsPid, cgroupAt, steps, data }: Order): Uint8Array {
  const size = HEAD_BYTES + steps.length * STEP_BYTES + data.byteLength;
  if (size > MAX_BYTES[kind]) throw new KernelError("order for the fork server", E2BIG);
  const bytes = new Uint8Array(size);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, bytes.byteLength, true);
  view.setUint16(4, VERSION, true);
  view.setUint8(6, ORDER[kind]);
  view.setUint8(7, wantsPid ? 1 : 0);
  view.setUint32(8, id, true);
  view.setUint32(12, cgroupAt ?? NO_CGROUP, true);
  view.setUint32(16, steps.length, true);
  view.setUint32(20, data.byteLength, true);
  for (const [place, step] of steps.entries()) writeStep(view, HEAD_BYTES + place * STEP_BYTES, step);
  bytes.set(data, HEAD_BYTES + steps.length * STEP_BYTES);
  return bytes;
}

function writeStep(view: DataView, at: number, step: Step): void {
  view.setInt32(at, step.number, true);
  let kinds = 0;
  for (const [i, { kind, value }] of step.arguments.entries()) {
    kinds |= ARGUMENT[kind] << (2 * i);
    view.setBigInt64(at + 8 + i * 8, value, true);
  }
  view.setUint32(at + 4, kinds, true);
}

/** `step`: the index in the list of steps, or a number of `FAILURES`. */
export type Answer = { readonly id: number } & (
  | { readonly what: "started"; readonly pid: number }
  | { readonly what: "ready" }
  | { readonly what: "ended"; readonly status: number; readonly cpuMicroseconds: number }
  | { readonly what: "failed"; readonly step: number; readonly errno: number }
);

/** Failures before the first step, by number. */
export const FAILURES: Readonly<Record<number, string>> = { [-1]: "order", [-2]: "open the cgroup", [-3]: "clone" };

/** Reads answers from a stream that may be split anywhere. */
export class AnswerReader {
  private rest = new Uint8Array(0);

  push(bytes: Uint8Array): Answer[] {
    const all = new Uint8Array(this.rest.byteLength + bytes.byteLength);
    all.set(this.rest);
    all.set(bytes, this.rest.byteLength);
    const view = new DataView(all.buffer);
    const whole = all.byteLength - (all.byteLength % ANSWER_BYTES);
    const answers: Answer[] = [];
    for (let at = 0; at < whole; at += ANSWER_BYTES) answers.push(readAnswer(view, at));
    this.rest = all.slice(whole);
    return answers;
  }
}

function readAnswer(view: DataView, at: number): Answer {
  const [id, what] = [view.getUint32(at, true), view.getInt32(at + 4, true)];
  const [first, second] = [view.getInt32(at + 8, true), view.getInt32(at + 12, true)];
  switch (what) {
    case 1:
      return { id, what: "started", pid: first };
    case 2:
      return { id, what: "ready" };
    case 3:
      return { id, what: "ended", status: first, cpuMicroseconds: second };
    case 4:
      return { id, what: "failed", step: first, errno: second };
    default:
      throw new RangeError(`the fork server answers ${what}`);
  }
}
