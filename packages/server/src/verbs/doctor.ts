import type { FingerprintCheck } from "@boxyard/driver";
import type { Machine } from "../machine.ts";

const SIGNS: Readonly<Record<FingerprintCheck["status"], string>> = { ok: "ok  ", warn: "warn", fail: "FAIL" };

/** Says what this machine can do. Exit code 1 when sandboxes cannot run. */
export async function doctor(machine: Machine, args: readonly string[]): Promise<number> {
  const { checks } = await machine.fingerprint();
  if (args.includes("--json")) console.log(JSON.stringify({ version: 1, checks }, null, 2));
  else {
    for (const { name, status, found, fix } of checks) {
      console.log(`${SIGNS[status]}  ${name}: ${found}`);
      if (fix) console.log(`      ${fix}`);
    }
  }
  return checks.some(({ status }) => status === "fail") ? 1 : 0;
}
