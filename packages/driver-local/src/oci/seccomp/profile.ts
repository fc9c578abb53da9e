import { type Clause, CONDITIONS, type ConditionalCall, ENOSYS, EPERM, type Verdict } from "./policy.ts";
import { type Arch, SYSCALLS } from "./syscalls.ts";

/**
 * The policy in the form of the OCI runtime specification, for runtimes that compile it themselves. Where no clause of a call holds, the call
 * returns ENOSYS, because the format has one default for all calls.
 */
export interface SeccompProfile {
  readonly defaultAction: "SCMP_ACT_ERRNO";
  readonly defaultErrnoRet: number;
  readonly architectures: readonly string[];
  readonly syscalls: readonly SyscallRule[];
}

export interface SyscallRule {
  readonly names: readonly string[];
  readonly action: "SCMP_ACT_ALLOW" | "SCMP_ACT_ERRNO";
  readonly errnoRet?: number;
  readonly args?: readonly ArgumentRule[];
}

/** `argument & value == valueTwo`. */
export interface ArgumentRule {
  readonly index: number;
  readonly value: number;
  readonly valueTwo: number;
  readonly op: "SCMP_CMP_MASKED_EQ";
}

const WHOLE = 0xffff_ffff;

const rule = (names: readonly string[], verdict: Verdict, args?: readonly ArgumentRule[]): SyscallRule => ({
  names,
  ...(verdict === "allow" ? { action: "SCMP_ACT_ALLOW" } : { action: "SCMP_ACT_ERRNO", errnoRet: verdict.errno }),
  ...(args && { args }),
});

/** Every combination of the values that a clause names. */
function combinations({ tests }: Clause): ArgumentRule[][] {
  let all: ArgumentRule[][] = [[]];
  for (const { index, mask, values } of tests) {
    const one = (value: number): ArgumentRule => ({ index, value: mask ?? WHOLE, valueTwo: value, op: "SCMP_CMP_MASKED_EQ" });
    all = all.flatMap((before) => values.map((value) => [...before, one(value)]));
  }
  return all;
}

export function seccompProfile(arch: Arch): SeccompProfile {
  const names = (calls: (typeof SYSCALLS)["allowed"]) => calls.filter((call) => call[arch] !== undefined).map(({ name }) => name);
  const conditional = names(SYSCALLS.conditional).flatMap((name) =>
    (CONDITIONS[name] as ConditionalCall).clauses.flatMap((clause) =>
      combinations(clause).map((args) => rule([name], clause.verdict, args)),
    ),
  );
  return {
    defaultAction: "SCMP_ACT_ERRNO",
    defaultErrnoRet: ENOSYS,
    architectures: [arch === "arm64" ? "SCMP_ARCH_AARCH64" : "SCMP_ARCH_X86_64"],
    syscalls: [rule(names(SYSCALLS.allowed), "allow"), rule(names(SYSCALLS.refused), { errno: EPERM }), ...conditional],
  };
}
