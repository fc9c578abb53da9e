import { closeSync, existsSync, openSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { type Clock, later, type SandboxId } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import type { ResourceLimits } from "@boxyard/driver";
import type { LocalSandboxRecord } from "../state/record.ts";
import { hasErrno } from "../sys/libc.ts";
import type { Figure } from "./files.ts";
import { type MemoryAccount, meminfoText } from "./meminfo.ts";
import { machineProcessors, type Processors, processorFiles } from "./processors.ts";
import { ReadGate } from "./read-gate.ts";
import { writeFact } from "./write-fact.ts";

/** How long figures count as fresh: a sandbox that reads them all the time makes the server read its account once in this time. */
const FRESH_MS = 100;
/** Most accounts that the server reads in that time, for all sandboxes together. The others keep their figures until it is their turn. */
const MOST_READS = 20;
const GONE = ["ENOENT", "ENODEV", "ESRCH"] as const;

export interface FigureParts {
  /** Directory of a sandbox's own facts. */
  readonly factsOf: (id: SandboxId) => string;
  /** The kernel's account of the sandbox's memory now. */
  readonly accountOf: (id: SandboxId) => Omit<MemoryAccount, "limitBytes">;
  readonly clock: Clock;
}
interface Shown {
  readonly id: SandboxId;
  readonly path: string;
  readonly inode: number;
  readonly memoryBytes: number;
  /** While true, its readers do not wait. */
  isFresh: boolean;
}

/**
 * What `free`, `top` and programs that count processors read in a sandbox: files of its own, mounted over the kernel's. The file of its memory is
 * written when a process of the sandbox is about to read it, while that process waits (`ReadGate`). While no server runs, sandboxes read the last
 * text.
 */
export class Figures {
  private readonly parts: FigureParts;
  private readonly logger: Pick<Logger, "warn">;
  private readonly gate: ReadGate;
  private readonly processors: Processors;
  private readonly byInode = new Map<number, Shown>();
  private readonly byId = new Map<SandboxId, Shown>();
  /** Sandboxes whose figures are fresh, the oldest first. */
  private fresh: { readonly shown: Shown; readonly since: number }[] = [];
  /** Cancels the next look for figures that are no longer fresh. */
  private cancelExpiry: (() => void) | undefined;
  private first: { readonly limitBytes: number; readonly text: string } | undefined;

  private constructor(parts: FigureParts, logger: Pick<Logger, "warn">, gate: ReadGate, processors: Processors) {
    this.parts = parts;
    this.logger = logger;
    this.gate = gate;
    this.processors = processors;
    gate
      .watch((inode) => this.beforeRead(inode))
      .catch((error) => logger.warn({ err: error }, "figures in sandboxes are no longer kept up to date"));
  }

  /** Undefined where the kernel cannot notify before a file is read: sandboxes then see the machine's figures. */
  static open(parts: FigureParts, logger: Pick<Logger, "warn">): Figures | undefined {
    const gate = ReadGate.open();
    return gate && new Figures(parts, logger, gate, machineProcessors());
  }

  /**
   * Makes the files of a sandbox, and returns which of them it should see. Files of processors are left out when they show the whole machine, but not
   * when `wanted` has them: the sandbox has mounts for those. Repeatable.
   */
  make(id: SandboxId, { memoryBytes, cpuCount }: ResourceLimits, wanted: readonly Figure[] = []): Figure[] {
    const directory = this.parts.factsOf(id);
    const path = join(directory, "meminfo");
    this.watch({ id, path, memoryBytes, inode: writeFact(path, this.firstText(memoryBytes)) });
    const processors = processorFiles(cpuCount, this.processors);
    if (processors.isAll && wanted.length < 2) return ["meminfo"];
    writeFact(join(directory, "cpuinfo"), processors.info);
    writeFact(join(directory, "online"), processors.online);
    return ["meminfo", "cpuinfo", "online"];
  }

  /** Writes the files of a sandbox whose limits have changed. It sees those that it had at its start. */
  resize(id: SandboxId, { memoryBytes, cpuCount }: ResourceLimits): void {
    const directory = this.parts.factsOf(id);
    const path = join(directory, "meminfo");
    this.watch({ id, path, memoryBytes, inode: writeFact(path, this.firstText(memoryBytes)) });
    const processors = processorFiles(cpuCount, this.processors);
    if (!existsSync(join(directory, "cpuinfo"))) return;
    writeFact(join(directory, "cpuinfo"), processors.info);
    writeFact(join(directory, "online"), processors.online);
  }

  /** A text of the right length, which is written anew before it is first read. Kept, because most sandboxes have the same limit. */
  private firstText(limitBytes: number): string {
    if (this.first?.limitBytes !== limitBytes)
      this.first = { limitBytes, text: meminfoText({ limitBytes, usageBytes: 0, stat: "", isV1: false }) };
    return this.first.text;
  }

  /** Registers the sandboxes of an earlier process. A sandbox without such a file sees the machine's. */
  adopt(records: readonly LocalSandboxRecord[]): void {
    for (const { sandboxId, resources } of records) {
      try {
        const path = join(this.parts.factsOf(sandboxId), "meminfo");
        this.watch({ id: sandboxId, path, memoryBytes: resources.memoryBytes, inode: statSync(path).ino });
      } catch (error) {
        if (!hasErrno(error, ...GONE)) this.logger.warn({ sandboxId, err: error }, "figures of this sandbox are not kept up to date");
      }
    }
  }

  private watch(sandbox: Omit<Shown, "isFresh">): void {
    this.forget(sandbox.id);
    const shown = { ...sandbox, isFresh: false };
    this.gate.mark(shown.path);
    this.byInode.set(shown.inode, shown);
    this.byId.set(shown.id, shown);
  }

  /** Stops keeping the sandbox's file up to date. Repeatable. */
  forget(id: SandboxId): void {
    const shown = this.byId.get(id);
    if (!shown) return;
    this.byId.delete(id);
    if (this.byInode.get(shown.inode) === shown) this.byInode.delete(shown.inode);
    this.gate.unmark(shown.path);
  }

  private beforeRead(inode: number): void {
    const shown = this.byInode.get(inode);
    if (!shown || shown.isFresh) return;
    shown.isFresh = true;
    try {
      this.refresh(shown);
      this.gate.setPassing(shown.path, true);
    } catch (error) {
      if (!hasErrno(error, ...GONE)) this.logger.warn({ sandboxId: shown.id, err: error }, "figures of this sandbox are not up to date");
    }
    this.fresh.push({ shown, since: this.parts.clock.monotonic() });
    this.expireLater();
  }

  private expireLater(): void {
    this.cancelExpiry ??= later(FRESH_MS, () => this.expire(), this.parts.clock);
  }

  private refresh({ id, path, memoryBytes }: Shown): void {
    const account = this.parts.accountOf(id);
    const file = openSync(path, "r+");
    try {
      // As long as the text before, so that no reader gets parts of both.
      writeSync(file, meminfoText({ limitBytes: memoryBytes, ...account }), 0);
    } finally {
      closeSync(file);
    }
  }

  /** Readers of figures that are no longer fresh wait again for new ones. */
  private expire(): void {
    this.cancelExpiry = undefined;
    const before = this.parts.clock.monotonic() - FRESH_MS;
    const due = this.fresh.findIndex(({ since }) => since > before);
    const old = this.fresh.splice(0, Math.min(MOST_READS, due < 0 ? this.fresh.length : due));
    for (const { shown } of old) {
      if (this.byId.get(shown.id) !== shown) continue;
      shown.isFresh = false;
      try {
        this.gate.setPassing(shown.path, false);
      } catch (error) {
        if (!hasErrno(error, ...GONE))
          this.logger.warn({ sandboxId: shown.id, err: error }, "figures of this sandbox are not kept up to date");
      }
    }
    if (this.fresh.length > 0) this.expireLater();
  }

  close(): void {
    this.cancelExpiry?.();
    this.gate.close();
  }
}
