import { describe, expect, test } from "bun:test";
import { AUDIT_ARCH, compile, encode, type Instruction, OP, RETURN } from "./bpf.ts";
import { seccompProfile } from "./profile.ts";
import { type Arch, SYSCALLS } from "./syscalls.ts";

const ENOSYS = 38;

/** Runs a filter as the kernel would, with 64-bit arguments. Returns `allow`, `kill` or an errno. */
function run(program: readonly Instruction[], arch: number, number: number, args: readonly number[] = []): "allow" | "kill" | number {
  const data = new DataView(new ArrayBuffer(64));
  data.setUint32(0, number, true);
  data.setUint32(4, arch, true);
  for (const [index, value] of args.entries()) data.setBigUint64(16 + 8 * index, BigInt.asUintN(64, BigInt(value)), true);
  let accumulator = 0;
  for (let at = 0; at < program.length; at++) {
    const { code, k, jumpTrue, jumpFalse } = program[at] as Instruction;
    if (code === OP.load) accumulator = data.getUint32(k, true);
    else if (code === OP.and) accumulator = (accumulator & k) >>> 0;
    else if (code === OP.jump) at += k;
    else if (code === OP.equal) at += accumulator === k ? jumpTrue : jumpFalse;
    else if (code === OP.atLeast) at += accumulator >= k ? jumpTrue : jumpFalse;
    else if (code === OP.end) return k === RETURN.allow ? "allow" : k === RETURN.kill ? "kill" : k & 0xffff;
    else throw new Error(`no such instruction: ${code}`);
  }
  throw new Error("the filter has no end");
}

const PROFILES = { x64: seccompProfile("x64"), arm64: seccompProfile("arm64") } as const;

/** The verdict of a runtime's library on the profile: of the rules that hold, all of which must agree. */
function ask(arch: Arch, name: string, args: readonly number[]): "allow" | number {
  const profile = PROFILES[arch];
  const found = profile.syscalls.filter(
    ({ names, args: rules }) =>
      names.includes(name) && (rules ?? []).every(({ index, value, valueTwo }) => ((args[index] ?? 0) & value) >>> 0 === valueTwo),
  );
  const verdicts = new Set(found.map(({ action, errnoRet }) => (action === "SCMP_ACT_ALLOW" ? "allow" : (errnoRet ?? -1))));
  if (verdicts.size > 1) throw new Error(`${name} with ${args.join(", ")} has ${verdicts.size} verdicts`);
  return [...verdicts][0] ?? profile.defaultErrnoRet;
}

const numberOf = (arch: Arch, name: string): number => {
  const found = Object.values(SYSCALLS)
    .flat()
    .find((call) => call.name === name)?.[arch];
  if (found === undefined) throw new Error(`${name} is no call of ${arch}`);
  return found;
};

describe.each(["x64", "arm64"] as const)("the filter for %s", (arch) => {
  const program = compile(arch);
  const call = (name: string, ...args: number[]) => run(program, AUDIT_ARCH[arch], numberOf(arch, name), args);

  test("fits the kernel, and each of its jumps stays within it", () => {
    expect(program.length).toBeLessThan(1_000);
    for (const [at, { code, k, jumpTrue, jumpFalse }] of program.entries()) {
      expect(Math.max(jumpTrue, jumpFalse)).toBeLessThanOrEqual(255);
      const furthest = code === OP.jump ? k : Math.max(jumpTrue, jumpFalse);
      expect(at + furthest).toBeLessThan(program.length);
    }
    expect(encode(program)).toHaveLength(8 * program.length);
  });

  test("every call in the tables has the verdict of its table, and no two share a number", () => {
    const here = Object.values(SYSCALLS).flatMap((calls) => calls.flatMap((entry) => entry[arch] ?? []));
    expect(new Set(here).size).toBe(here.length);
    for (const { name, [arch]: number } of SYSCALLS.allowed) if (number !== undefined) expect([name, call(name)]).toEqual([name, "allow"]);
    for (const { name, [arch]: number } of SYSCALLS.refused) if (number !== undefined) expect([name, call(name)]).toEqual([name, 1]);
  });

  test("a call in no table does not exist: asynchronous I/O, io_uring, and calls of future kernels", () => {
    const known = new Set(Object.values(SYSCALLS).flatMap((calls) => calls.flatMap((entry) => entry[arch] ?? [])));
    for (let number = 0; number < 1_000; number++) {
      if (!known.has(number)) expect([number, run(program, AUDIT_ARCH[arch], number)]).toEqual([number, ENOSYS]);
    }
    // open_tree_attr, the first call that a deny-list missed.
    expect(run(program, AUDIT_ARCH[arch], 467)).toBe(ENOSYS);
  });

  test("other architectures end the process, the other ABI of the same one does not exist", () => {
    for (const other of [0x4000_0003, 0xc000_00b7, 0xc000_003e, 0]) {
      if (other !== AUDIT_ARCH[arch]) expect(run(program, other, 1)).toBe("kill");
    }
    if (arch === "x64") for (const number of [0, 1, 59, 520, 545]) expect(run(program, AUDIT_ARCH.x64, 0x4000_0000 + number)).toBe(ENOSYS);
  });

  test("sockets: the families and protocols of ordinary programs", () => {
    const STREAM = 1;
    const FLAGS = 0o2004000;
    for (const family of [1, 2, 10]) expect(call("socket", family, STREAM | FLAGS, 0)).toBe("allow");
    for (const protocol of [0, 4, 15, 16]) expect(call("socket", 16, 3 | FLAGS, protocol)).toBe("allow");
    for (const protocol of [2, 6, 9, 12, 21]) expect(call("socket", 16, 3, protocol)).toBe(93);
    for (const protocol of [1, 3, 5, 8, 22, 31, 99]) expect(call("socket", 16, 3, protocol)).toBe(97);
    for (const protocol of [33, 115, 132, 136, 262]) expect(call("socket", 2, STREAM | FLAGS, protocol)).toBe(93);
    expect(call("socket", 2, 3, 1)).toBe("allow");
    expect(call("socket", 17, 3, 768)).toBe("allow");
    for (const family of [3, 21, 30, 38, 40, 45, 99]) expect(call("socket", family, STREAM, 0)).toBe(97);
    expect(call("socketpair", 1, STREAM)).toBe("allow");
    expect(call("socketpair", 30, STREAM)).toBe(97);
  });

  test("an argument's upper half changes nothing, as it changes nothing for the kernel", () => {
    const above = 2 ** 40;
    expect(call("socket", 40 + above, 1, 0)).toBe(97);
    expect(call("socket", 16, 3, 2 + above)).toBe(93);
    expect(call("socket", 1 + above, 1, 0)).toBe("allow");
    expect(call("clone", 0x1000_0000 + above)).toBe(1);
    expect(call("personality", 0xffff_ffff)).toBe("allow");
  });

  test("socket options: buffer sizes are ignored, filters and rings refused, the rest allowed", () => {
    for (const option of [7, 8]) expect(call("setsockopt", 3, 1, option)).toBe(0);
    for (const option of [32, 33]) expect(call("setsockopt", 3, 1, option)).toBe(1);
    for (const option of [26, 50, 51, 52]) expect(call("setsockopt", 3, 1, option)).toBe(92);
    for (const option of [5, 10, 13, 18, 20, 23]) expect(call("setsockopt", 3, 263, option)).toBe(92);
    expect(call("getsockopt", 3, 263, 11)).toBe(92);
    for (const [level, option] of [[1, 2] as const, [1, 15], [6, 1], [6, 16], [0, 2], [41, 26], [270, 1]]) {
      expect([level, option, call("setsockopt", 3, level, option)]).toEqual([level, option, "allow"]);
    }
    expect(call("setsockopt", 3, 6, 31)).toBe(92);
    expect(call("setsockopt", 3, 41, 32)).toBe(92);
    expect(call("setsockopt", 3, 999, 1)).toBe(92);
    expect(call("getsockopt", 3, 1, 4)).toBe("allow");
  });

  test("socket options that take the machine's network lock are refused: memberships, multicast routes, address forms", () => {
    const ip = [5, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 200, 201, 202, 203, 204, 205, 206, 207, 208, 209, 210, 211, 212];
    const ipv6 = [1, 20, 21, 22, 27, 28, 42, 43, 44, 45, 46, 47, 48, 200, 201, 202, 203, 204, 205, 206, 207, 208, 209, 210];
    const refused = [...ip.map((option) => [0, option]), ...ipv6.map((option) => [41, option]), [263, 1], [263, 2]];
    for (const [level = 0, option = 0] of refused) {
      expect([level, option, call("setsockopt", 3, level, option)]).toEqual([level, option, 92]);
    }
    // The kernel takes the same lock to show the sources of a group.
    for (const [level, option] of [[0, 41] as const, [0, 48], [41, 48], [41, 1]]) {
      expect([level, option, call("getsockopt", 3, level, option)]).toEqual([level, option, 92]);
    }
    // What senders to groups set, and what servers of UDP ask for.
    const allowed = [...[1, 2, 8, 10, 11, 12, 15, 20, 24, 32, 33, 34, 49, 50].map((option) => [0, option]), [263, 8], [263, 9]];
    allowed.push(...[16, 17, 18, 19, 23, 25, 26, 29, 36, 49, 51, 58, 66, 67, 70, 76, 78].map((option) => [41, option]));
    for (const [level = 0, option = 0] of allowed) {
      expect([level, option, call("setsockopt", 3, level, option)]).toEqual([level, option, "allow"]);
      expect([level, option, call("getsockopt", 3, level, option)]).toEqual([level, option, "allow"]);
    }
    // The address that a redirected connection was for.
    for (const level of [0, 41]) expect(call("getsockopt", 3, level, 80)).toBe("allow");
  });

  test("a choice of processors is reported as done and has no effect", () => {
    expect(call("sched_setaffinity", 0, 128)).toBe(0);
    expect(call("sched_getaffinity", 0, 128)).toBe("allow");
  });

  test("debuggers do all but set breakpoints of the processor", () => {
    const [PEEKUSER, POKEUSER, SETREGSET] = [3, 6, 0x4205];
    for (const request of [0, 1, 4, 7, 9, 12, 13, 16, 17, 24, 31, 0x4200, 0x4204, 0x4206, 0x4207, 0x420e]) {
      expect([request, call("ptrace", request, 7)]).toEqual([request, "allow"]);
    }
    for (let register = 0; register < 8; register++) {
      expect(call("ptrace", POKEUSER, 7, 848 + 8 * register)).toBe(28);
      expect(call("ptrace", PEEKUSER, 7, 848 + 8 * register)).toBe("allow");
    }
    // orig_rax, by which strace changes a call.
    expect(call("ptrace", POKEUSER, 7, 120)).toBe("allow");
    for (const set of [0x402, 0x403]) expect(call("ptrace", SETREGSET, 7, set)).toBe(28);
    for (const set of [1, 2, 0x202, 0x404]) expect(call("ptrace", SETREGSET, 7, set)).toBe("allow");
    expect(call("ptrace", 99, 7)).toBe(5);
  });

  test("clone makes threads and processes, no namespaces; personalities are few; no filter can be added", () => {
    expect(call("clone", 0x003d_0f00)).toBe("allow");
    expect(call("clone", 17)).toBe("allow");
    for (const flag of [0x2_0000, 0x200_0000, 0x400_0000, 0x800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000]) {
      expect(call("clone", flag | 17)).toBe(1);
    }
    for (const persona of [0, 8, 0x4_0000]) expect(call("personality", persona)).toBe("allow");
    for (const persona of [0x40_0000, 0x10_0000, 0x0800_0000]) expect(call("personality", persona)).toBe(1);
    expect(call("prctl", 22)).toBe(22);
    for (const option of [1, 15, 38, 0x5961_6d61]) expect(call("prctl", option)).toBe("allow");
    expect(call("seccomp", 1)).toBe(22);
    expect(call("seccomp", 2)).toBe("allow");
  });

  test("locks of an open file, which name no process, are refused as by a kernel that has none", () => {
    for (const command of [36, 37, 38, 99]) expect(call("fcntl", 3, command)).toBe(22);
    for (const command of [0, 1, 2, 3, 4, 5, 6, 7, 1030, 1031, 1033]) expect(call("fcntl", 3, command)).toBe("allow");
  });

  test("an attribute of the size of an access list holds 13 entries at most; of other sizes, any number of bytes", () => {
    for (const name of ["setxattr", "lsetxattr", "fsetxattr"]) {
      const refused = Array.from({ length: 65_537 }, (_, bytes) => bytes).filter((bytes) => call(name, 1, 2, 3, bytes, 0) !== "allow");
      expect(refused).toEqual(Array.from({ length: 8_192 - 14 }, (_, i) => 4 + 8 * (14 + i)));
      expect(call(name, 1, 2, 3, 116, 0)).toBe(7);
    }
  });

  test("a call waits for 1,024 files at most", () => {
    const calls: Record<string, (count: number) => "allow" | "kill" | number> = {
      ...(arch === "x64" && { poll: (count) => call("poll", 1, count), select: (count) => call("select", count) }),
      ppoll: (count) => call("ppoll", 1, count),
      pselect6: (count) => call("pselect6", count),
    };
    for (const [name, waitFor] of Object.entries(calls)) {
      for (const count of [0, 1, 512, 1_023, 1_024]) expect([name, count, waitFor(count)]).toEqual([name, count, "allow"]);
      for (const count of [1_025, 1_026, 2_047, 2_048, 4_096, 16_384, 2 ** 31, 2 ** 32 - 1, -1])
        expect([name, count, waitFor(count)]).toEqual([name, count, 22]);
    }
  });

  test("the ioctls of btrfs are refused, except for those that share data of files", () => {
    const TYPES = Array.from({ length: 256 }, (_, type) => type << 8);
    for (const type of TYPES) expect([type, call("ioctl", 3, type | 0x4004_0001)]).toEqual([type, type === 0x9400 ? 25 : "allow"]);
    // SUBVOL_CREATE, SNAP_CREATE_V2, SNAP_DESTROY, SUBVOL_SETFLAGS, TREE_SEARCH
    for (const command of [0x5000_940e, 0x5000_9417, 0x5000_940f, 0x4008_941a, 0xd000_9411]) expect(call("ioctl", 3, command)).toBe(25);
    for (const command of [0x4004_9409, 0x4020_940d, 0xc018_9436]) expect(call("ioctl", 3, command)).toBe("allow");
  });

  test("a runtime that compiles the profile by itself comes to the same verdicts", () => {
    const levels = [0, 1, 6, 17, 41, 58, 136, 255, 263, 270, 284, 999];
    const numbers = Array.from({ length: 60 }, (_, i) => i);
    const options = Array.from({ length: 220 }, (_, i) => i);
    const sizes = [...Array.from({ length: 300 }, (_, i) => i), 1_004, 4_084, 4_085, 16_388, 65_476, 65_532, 65_536];
    const counts = [...Array.from({ length: 40 }, (_, i) => 1_010 + i), 0, 1, 2_047, 2_048, 3_072, 65_536, 2 ** 31, 2 ** 32 - 1];
    const grids: Record<string, number[][]> = {
      socket: [0, 1, 2, 10, 16, 17, 30, 45].flatMap((family) =>
        [1, 2, 3, 5, 0o2000001].flatMap((type) => [0, 1, 2, 6, 9, 15, 17, 31, 132].map((protocol) => [family, type, protocol])),
      ),
      socketpair: [[1], [2], [30]],
      setsockopt: levels.flatMap((level) => options.map((option) => [3, level, option])),
      getsockopt: levels.flatMap((level) => options.map((option) => [3, level, option])),
      clone: [[0], [17], [0x1000_0011], [0x2_0000]],
      personality: [[0], [8], [0x4_0000], [0x40_0000], [0xffff_ffff]],
      prctl: numbers.map((option) => [option]),
      ptrace: [...numbers, ...numbers.map((number) => 0x4200 + number)].flatMap((request) =>
        [0, 1, 2, 0x202, 0x402, 0x403, 120, 208, 840, 848, 904].map((address) => [request, 7, address]),
      ),
      sched_setaffinity: [[0], [7]],
      seccomp: [[0], [1], [2], [3]],
      poll: counts.map((count) => [1, count]),
      ppoll: counts.map((count) => [1, count]),
      select: counts.map((count) => [count]),
      pselect6: counts.map((count) => [count]),
      ...Object.fromEntries(["setxattr", "lsetxattr", "fsetxattr"].map((name) => [name, sizes.map((bytes) => [1, 2, 3, bytes, 0])])),
      ioctl: [0x5401, 0x8000_9401, 0x4004_9409, 0x9509, 0x1409, 0xffff_ffff].map((command) => [3, command]),
      fcntl: [...numbers, ...numbers.map((number) => 1024 + number)].map((command) => [3, command]),
    };
    expect(Object.keys(grids).toSorted()).toEqual(SYSCALLS.conditional.map(({ name }) => name).toSorted());
    // One comparison of all: twenty thousand take longer than the calls themselves.
    const different: unknown[] = [];
    for (const [name, grid] of Object.entries(grids)) {
      if (!SYSCALLS.conditional.some((known) => known.name === name && known[arch] !== undefined)) continue;
      for (const args of grid) {
        const [ours, theirs] = [call(name, ...args), ask(arch, name, args)];
        // The format has one answer for what no rule names.
        const isSame = theirs === ENOSYS ? ours !== "allow" : theirs === ours;
        if (!isSame) different.push({ name, args, ours, theirs });
      }
    }
    expect(different).toEqual([]);
  });
});
