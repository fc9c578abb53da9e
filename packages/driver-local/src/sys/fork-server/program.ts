import { cstring, O, type SyscallArg } from "../libc.ts";
import { NUMBERS, type SyscallName } from "../numbers.ts";
import { ARGUMENTS, type Argument, type OrderKind, STEP, type Step, writeOrder } from "./wire.ts";

/** Stands for the result of an earlier step of the same program, for example a descriptor. */
export interface Result {
  readonly index: number;
}

/** Stands for a number of 32 bits that an earlier step has written to `memory`, at index `place`. */
export interface Loaded {
  readonly memory: Int32Array;
  readonly place: number;
}

type ProgramArg = SyscallArg | Result | Loaded;

const isResult = (arg: ProgramArg): arg is Result => typeof arg === "object" && arg !== null && "index" in arg;
const isLoaded = (arg: ProgramArg): arg is Loaded => typeof arg === "object" && arg !== null && "memory" in arg;

const AT_FDCWD = -100;
const WORD_BYTES = 8;

/**
 * A list of system calls for a child of the fork server (see `ForkServer`), which stops at the first that fails. The child has /dev/null as its
 * standard streams and no other descriptor; it ignores no signal, and blocks all of them until `execute`. Calls use the child's own copy of the
 * memory that they name.
 */
export class ChildProgram {
  private readonly steps: Step[] = [];
  private readonly names: string[] = [];
  private readonly chunks: { readonly at: number; readonly bytes: Uint8Array }[] = [];
  /** Offsets in the data of the memory that steps name, so that two steps can share it. */
  private readonly places = new Map<NodeJS.TypedArray, number>();
  private size = 0;

  /** A system call. `what` names its object in the error of a failure. */
  call(name: SyscallName, args: readonly ProgramArg[], what = ""): Result {
    return this.add(NUMBERS[name], what ? `${name} ${what}` : name, args);
  }

  /** Writes `text` to an existing file of the kernel (in /proc or /sys), in one write. */
  writeFile(path: string, text: string): void {
    const fd = this.call("openat", [AT_FDCWD, path, O.WRONLY | O.CLOEXEC, 0], path);
    const data = new TextEncoder().encode(text);
    this.call("write", [fd, data, data.byteLength], path);
    this.call("close", [fd]);
  }

  /** A pipe; `execute` closes its ends, except those that are standard streams. */
  pipe(): { readonly read: Loaded; readonly write: Loaded } {
    const memory = new Int32Array(2);
    this.call("pipe2", [memory, O.CLOEXEC]);
    return { read: { memory, place: 0 }, write: { memory, place: 1 } };
  }

  /** Stores a value in memory that a later call reads. */
  store(memory: BigUint64Array, index: number, value: Result | number): void {
    this.add(STEP.store, "store", [this.place(memory) + index * WORD_BYTES, value]);
  }

  /** A descriptor of a user namespace with this map of users and groups, in the format of user_namespaces(7): `0 100000 65536`. */
  userNamespace(map: string): Result {
    return this.add(STEP.userNamespace, "user namespace", [this.texts([map])]);
  }

  /** The last call: executes the program `file` (an absolute path), with default signals and only the standard streams open. */
  execute(file: string, args: readonly string[], env: Readonly<Record<string, string>>): void {
    const environment = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    const texts = [file, ...args];
    this.add(STEP.execute, `execve ${file}`, [this.texts(texts), texts.length, this.texts(environment), environment.length]);
  }

  /** The name of a step, for errors. */
  nameOf(step: number): string {
    return this.names[step] ?? `step ${step}`;
  }

  /** The order for the fork server. `cgroup`: directory of the v2 cgroup in which the child is created. */
  order(
    kind: OrderKind,
    id: number,
    { cgroup, wantsPid = false }: { readonly cgroup?: string; readonly wantsPid?: boolean } = {},
  ): Uint8Array {
    const cgroupAt = cgroup === undefined ? undefined : this.texts([cgroup]);
    return writeOrder({ kind, id, wantsPid, cgroupAt, steps: this.steps, data: this.data() });
  }

  private add(number: number, name: string, args: readonly ProgramArg[]): Result {
    const words = Array.from({ length: ARGUMENTS }, (_, i) => this.argument(args[i] ?? null));
    this.steps.push({ number, arguments: words });
    this.names.push(name);
    return { index: this.steps.length - 1 };
  }

  private argument(arg: ProgramArg): Argument {
    if (arg === null) return { kind: "immediate", value: 0n };
    if (typeof arg === "number" || typeof arg === "bigint") return { kind: "immediate", value: BigInt(arg) };
    if (typeof arg === "string") return { kind: "data", value: BigInt(this.texts([arg])) };
    if (isResult(arg)) return { kind: "result", value: BigInt(arg.index) };
    if (isLoaded(arg)) return { kind: "loaded", value: BigInt(this.place(arg.memory) + arg.place * Int32Array.BYTES_PER_ELEMENT) };
    return { kind: "data", value: BigInt(this.place(arg)) };
  }

  /** Appends `texts`, one after the other, each with its NUL. Returns their offset. */
  private texts(texts: readonly string[]): number {
    const at = this.size;
    for (const text of texts) this.append(cstring(text));
    return at;
  }

  private place(memory: NodeJS.TypedArray): number {
    const known = this.places.get(memory);
    if (known !== undefined) return known;
    this.size = Math.ceil(this.size / WORD_BYTES) * WORD_BYTES;
    const at = this.size;
    this.append(new Uint8Array(memory.buffer, memory.byteOffset, memory.byteLength));
    this.places.set(memory, at);
    return at;
  }

  private append(bytes: Uint8Array): void {
    this.chunks.push({ at: this.size, bytes });
    this.size += bytes.byteLength;
  }

  /** One byte more than is used: the fork server requires a NUL at the end. */
  private data(): Uint8Array {
    const data = new Uint8Array(this.size + 1);
    for (const { at, bytes } of this.chunks) data.set(bytes, at);
    return data;
  }
}
