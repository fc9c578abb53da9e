import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Clock } from "@boxyard/core";
import { AddressPool } from "./address-pool.ts";
import type { Plan } from "./plan.ts";

/** How long a freed address stays unused: most late packets and half-open connections have ended by then. */
const QUARANTINE_MS = 60_000;

/** The addresses of a plan, which goes on where the file says. */
export function poolWithCursor({ firstLease, lastLease }: Plan, clock: Clock, file: string): AddressPool {
  const cursor = readCursor(file);
  const saveCursor = (offset: number) => writeCursor(file, offset);
  return new AddressPool({ first: firstLease, last: lastLease, quarantineMs: QUARANTINE_MS, clock, cursor, saveCursor });
}

/** The offset in the file, at which the address pool goes on after a restart; 0 when the file is missing or damaged: the pool begins at its start. */
function readCursor(file: string): number {
  try {
    return Number.parseInt(readFileSync(file, "utf8"), 10) || 0;
  } catch {
    return 0;
  }
}

function writeCursor(file: string, offset: number): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(`${file}.new`, `${offset}\n`);
  renameSync(`${file}.new`, file);
}
