import { CONDITIONS, type ConditionalCall, ENOSYS, EPERM, type Verdict } from "./policy.ts";
import { type Arch, SYSCALLS } from "./syscalls.ts";

/**
 * The policy as a program for the kernel (classic BPF, seccomp(2)). It is compiled here once, because crun's library takes 1 ms of every create to
 * compile it, into a chain of comparisons; this program is a tree, which the kernel also attaches faster. It compares the lower half of an argument,
 * which is what the kernel reads: a caller cannot bypass a test by the upper bits.
 */

/** One instruction: struct sock_filter. */
export interface Instruction {
  readonly code: number;
  readonly jumpTrue: number;
  readonly jumpFalse: number;
  readonly k: number;
}

/** <linux/bpf_common.h>: LD W ABS, ALU AND K, JMP JA, JMP JEQ K, JMP JGE K, RET K. */
export const OP = { load: 0x20, and: 0x54, jump: 0x05, equal: 0x15, atLeast: 0x35, end: 0x06 } as const;
/** <linux/seccomp.h> */
export const RETURN = { kill: 0x8000_0000, errno: 0x5_0000, allow: 0x7fff_0000 } as const;
/** <linux/audit.h> */
export const AUDIT_ARCH: Readonly<Record<Arch, number>> = { x64: 0xc000_003e, arm64: 0xc000_00b7 };
/** struct seccomp_data: number, architecture, instruction pointer, six arguments of eight bytes, little-endian. */
const NUMBER_AT = 0;
const ARCH_AT = 4;
const ARGUMENTS_AT = 16;
/** On x86-64, calls with this bit are of another ABI (x32). */
const X32_BIT = 0x4000_0000;
/** The most instructions that a conditional jump can skip. */
const FAR = 255;

const make = (code: number, k: number, jumpTrue = 0, jumpFalse = 0): Instruction => ({ code, jumpTrue, jumpFalse, k: k >>> 0 });
const end = (verdict: Verdict): Instruction => make(OP.end, verdict === "allow" ? RETURN.allow : RETURN.errno | verdict.errno);

/** The instructions for the call numbers from `from` up to the next segment's. */
interface Segment {
  readonly from: number;
  readonly body: readonly Instruction[];
}

/** The tests of each clause one after another; arguments that fail a test go on to the next clause. */
function conditionBody({ clauses, otherwise }: ConditionalCall): Instruction[] {
  const body: Instruction[] = [];
  for (const { verdict, tests } of clauses) {
    if (verdict !== "allow" && verdict.errno === otherwise) continue;
    let clause: Instruction[] = [end(verdict)];
    for (const { index, mask, values } of [...tests].reverse()) {
      const load = [make(OP.load, ARGUMENTS_AT + 8 * index), ...(mask === undefined ? [] : [make(OP.and, mask)])];
      // A value that matches skips the other comparisons and the jump that leaves the clause.
      const compare = values.map((value, at) => make(OP.equal, value, values.length - at, 0));
      clause = [...load, ...compare, make(OP.jump, clause.length), ...clause];
    }
    body.push(...clause);
  }
  return [...body, end({ errno: otherwise })];
}

function segments(arch: Arch): Segment[] {
  const bodies = new Map<number, readonly Instruction[]>();
  const add = (calls: (typeof SYSCALLS)["allowed"], body: (name: string) => readonly Instruction[]) => {
    for (const call of calls) {
      const number = call[arch];
      if (number !== undefined) bodies.set(number, body(call.name));
    }
  };
  add(SYSCALLS.allowed, () => [end("allow")]);
  add(SYSCALLS.refused, () => [end({ errno: EPERM })]);
  add(SYSCALLS.conditional, (name) => conditionBody(CONDITIONS[name] as ConditionalCall));
  const absent = [end({ errno: ENOSYS })];
  const all: Segment[] = [];
  const last = Math.max(...bodies.keys());
  for (let from = 0; from <= last + 1; from++) {
    const body = bodies.get(from) ?? absent;
    const before = all.at(-1);
    if (!before || JSON.stringify(before.body) !== JSON.stringify(body)) all.push({ from, body });
  }
  return all;
}

/** Finds the segment of the call number, which is loaded, by binary search. */
function tree(all: readonly Segment[]): Instruction[] {
  const [only, ...more] = all;
  if (only === undefined) throw new Error("a filter of no calls");
  if (more.length === 0) return [...only.body];
  const middle = all.length >> 1;
  const below = tree(all.slice(0, middle));
  const above = tree(all.slice(middle));
  const from = (all[middle] as Segment).from;
  if (below.length <= FAR) return [make(OP.atLeast, from, below.length, 0), ...below, ...above];
  return [make(OP.atLeast, from, 0, 1), make(OP.jump, below.length), ...below, ...above];
}

export function compile(arch: Arch): Instruction[] {
  return [
    make(OP.load, ARCH_AT),
    make(OP.equal, AUDIT_ARCH[arch], 1, 0),
    make(OP.end, RETURN.kill),
    make(OP.load, NUMBER_AT),
    ...(arch === "x64" ? [make(OP.atLeast, X32_BIT, 0, 1), end({ errno: ENOSYS })] : []),
    ...tree(segments(arch)),
  ];
}

/** As the kernel takes it: eight bytes an instruction, little-endian. */
export function encode(program: readonly Instruction[]): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(8 * program.length));
  for (const [at, { code, jumpTrue, jumpFalse, k }] of program.entries()) {
    bytes.setUint16(8 * at, code, true);
    bytes.setUint8(8 * at + 2, jumpTrue);
    bytes.setUint8(8 * at + 3, jumpFalse);
    bytes.setUint32(8 * at + 4, k, true);
  }
  return new Uint8Array(bytes.buffer);
}
