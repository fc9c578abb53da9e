import type { SandboxDriver } from "@boxyard/driver";
import type { Term } from "./term.ts";

/** Calls that only look. Every other call changes something. */
const LOOKS = new Set([
  ...["fingerprint", "capacity", "recover", "inspect", "stats", "cpuTimes", "address", "keptSpec", "wait", "list", "close", "generation"],
  ...[
    "takeAttempts",
    "connectInside",
    "get",
    "hasLayer",
    "getLayer",
    "listLayers",
    "changedPaths",
    "exportLayer",
    "export",
    "stat",
    "read",
  ],
]);

/** A driver whose calls are refused while `term` is not valid, except those that only look: an owner that slept must not undo what its successor did. */
export function fencedDriver(driver: SandboxDriver, term: Pick<Term, "check">): SandboxDriver {
  return fenced(driver, term);
}

/** Parts of a driver that have calls of their own. */
const PARTS = new Set(["images", "snapshots", "volumes", "content"]);

function fenced<T extends object>(target: T, term: Pick<Term, "check">): T {
  return new Proxy(target, {
    get(from, name) {
      const member: unknown = Reflect.get(from, name, from);
      if (PARTS.has(String(name))) return fenced(member as object, term);
      if (typeof member !== "function" || LOOKS.has(String(name))) return member;
      return async (...args: unknown[]) => {
        term.check();
        return Reflect.apply(member, from, args) as unknown;
      };
    },
  });
}
