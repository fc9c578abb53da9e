import type { Clock } from "@boxyard/core";
import type { LayerInfo } from "@boxyard/driver";
import type { Admission } from "./create/admission.ts";
import { type BuildSandbox, newBuildRecord, newTrialRecord, type Trial } from "./create/new-record.ts";
import type { Engine } from "./engine/engine.ts";
import { addressOf, type Sandbox } from "./engine/sandbox.ts";
import type { Tokens } from "./tokens.ts";
import { commitLayer } from "./transitions/commit-layer.ts";
import { createTransition } from "./transitions/create.ts";
import { snapshot } from "./transitions/snapshot.ts";

export interface BuildSandboxesParts {
  readonly engine: Engine;
  readonly admission: Admission;
  readonly tokens: Tokens;
  readonly clock: Clock;
}

const NO_TEMPLATE = { env: {} };

/** Sandboxes in which builds run their steps. The engine makes, watches and removes them as any other; clients do not see them. */
export class BuildSandboxes {
  private readonly parts: BuildSandboxesParts;

  constructor(parts: BuildSandboxesParts) {
    this.parts = parts;
  }

  /** Makes a sandbox; returns it when it runs, with the access to its agent. */
  async open(wanted: BuildSandbox, signal: AbortSignal) {
    const { engine, admission, tokens, clock } = this.parts;
    const sandbox = await admission.create(newBuildRecord(wanted, clock.now()), signal, async (record) => {
      const added = engine.add(record);
      await engine.make(added, createTransition, NO_TEMPLATE, { signal });
      return added;
    });
    return {
      agent: { address: addressOf(sandbox), accessToken: tokens.access(sandbox.id) },
      commit: (leaveOut: readonly string[], signal: AbortSignal) => this.commit(sandbox, leaveOut, signal),
      close: () => this.close(sandbox),
    };
  }

  /** Makes a sandbox of a template, waits until its start command is ready, captures it as the snapshot `id`, and removes it. */
  async captureStarted(trial: Trial, id: string, signal: AbortSignal): Promise<void> {
    const { engine, admission, clock } = this.parts;
    await admission.create(newTrialRecord(trial, clock.now()), signal, async (record) => {
      const sandbox = engine.add(record);
      try {
        await engine.make(sandbox, createTransition, trial.spec, { signal });
        await engine.run(sandbox, snapshot, { id, memory: true }, { signal });
      } finally {
        await this.close(sandbox);
      }
    });
  }

  /** Makes a layer of all changes of the sandbox's disk, but for the paths of `leaveOut`. Processes that still run are frozen meanwhile. */
  private commit(sandbox: Sandbox, leaveOut: readonly string[], signal: AbortSignal): Promise<LayerInfo> {
    return this.parts.engine.run(sandbox, commitLayer, { leaveOut }, { signal });
  }

  /** Removes a sandbox. Repeatable; never throws: if the removal fails, the sweep tries again. */
  private async close(sandbox: Sandbox): Promise<void> {
    await this.parts.engine.end(sandbox, "requested").catch(() => {});
  }
}
