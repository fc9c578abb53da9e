import {
  checkEgress,
  type EgressPolicy,
  type NetworkCapabilities,
  type NetworkDriver,
  type SandboxHandle,
  type TakenAttempts,
} from "@boxyard/driver";
import { connectInside } from "../network/connect-inside.ts";
import { openProcess } from "../runtime/process.ts";
import type { LocalParts } from "../sandbox/parts.ts";
import { type LocalSandboxes, notFound } from "../sandbox/sandboxes.ts";
import { writeRecord } from "../state/record.ts";
import { close } from "../sys/libc.ts";

/** The network part of the driver; `network/` implements it. */
export class LocalNetwork implements NetworkDriver {
  readonly capabilities: NetworkCapabilities = { network: true, loopback: true };
  private readonly parts: LocalParts;
  private readonly sandboxes: LocalSandboxes;

  constructor(parts: LocalParts, sandboxes: LocalSandboxes) {
    this.parts = parts;
    this.sandboxes = sandboxes;
  }

  setNetwork(handle: SandboxHandle, network: EgressPolicy): Promise<void> {
    return this.sandboxes.inTurn(handle.sandboxId, async () => {
      checkEgress(network);
      const record = this.sandboxes.find(handle);
      if (this.sandboxes.phaseOf(record) !== "running") throw notFound(handle);
      await writeRecord(this.parts.paths.state(record.sandboxId), { ...record, network });
      await this.parts.networks.change(record.lease, network);
    });
  }

  takeAttempts(): TakenAttempts {
    return this.parts.networks.takeAttempts();
  }

  async connectInside(handle: SandboxHandle, port: number, signal: AbortSignal): Promise<number | undefined> {
    const { process } = this.sandboxes.find(handle);
    const pidfd = process ? openProcess(process) : undefined;
    if (pidfd === undefined) throw notFound(handle);
    try {
      return await connectInside(pidfd, port, this.parts.clock, signal);
    } finally {
      close(pidfd);
    }
  }
}
