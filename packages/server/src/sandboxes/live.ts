import { assertMove, type SandboxState } from "@boxyard/core";
import type { SandboxHandle } from "@boxyard/driver";
import type { SandboxChange, SandboxRecord } from "../store/index.ts";

/** A sandbox that is not dead, as this server holds it in memory; the store has the same facts. */
export class LiveSandbox {
  record: SandboxRecord;
  readonly handle: SandboxHandle;
  /** Aborted when its creation is to be given up. */
  readonly creation = new AbortController();
  /** Aborted when this incarnation has ended, or this server lets go of it. */
  readonly incarnation = new AbortController();
  /** Monotonic time before which its removal is not tried again. */
  retryAt = 0;

  constructor(record: SandboxRecord, driverName: string) {
    this.record = record;
    this.handle = { driver: driverName, sandboxId: record.id, incarnation: record.incarnation };
  }

  get state(): SandboxState {
    return this.record.state;
  }

  change(change: SandboxChange): void {
    if (change.state !== undefined && change.state !== this.record.state) assertMove(this.record.state, change.state);
    this.record = { ...this.record, ...change };
  }
}
