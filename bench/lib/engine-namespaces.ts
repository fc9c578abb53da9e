import { runProgram } from "@boxyard/testkit";
import { withoutEngineLeftovers } from "./engine-leftovers.ts";

/** Longest that entering the namespaces may take. */
const START_MS = 10_000;

/**
 * Network and mount namespaces for a container engine to work in: only the engine sees the bridges, rules, forwarding and mounts
 * that it makes, and they end with the namespaces. A program enters them in about a millisecond, which the measured times include.
 */
export class EngineNamespaces implements AsyncDisposable {
  private readonly holder: Bun.Subprocess;
  private readonly machine: AsyncDisposable;

  private constructor(holder: Bun.Subprocess, machine: AsyncDisposable) {
    this.holder = holder;
    this.machine = machine;
  }

  static async open(): Promise<EngineNamespaces> {
    const machine = await withoutEngineLeftovers();
    const script = "ip link set lo up && echo ready && exec sleep infinity";
    const holder = Bun.spawn(
      ["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "--mount", "--propagation", "private", "sh", "-c", script],
      {
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    const reader = holder.stdout.getReader();
    const timer = setTimeout(() => holder.kill("SIGKILL"), START_MS);
    const { done } = await reader.read();
    clearTimeout(timer);
    reader.releaseLock();
    if (done) throw new Error("no namespaces for podman: see above");
    return new EngineNamespaces(holder, machine);
  }

  /** Runs a program in the namespaces; throws when it fails. */
  async run(argv: readonly string[]): Promise<void> {
    const ended = await runProgram(["nsenter", "-t", String(this.holder.pid), "--net", "--mount", ...argv]);
    if (ended.exitCode !== 0) throw new Error(`${argv.join(" ")}: ${ended.stderr.trim()}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.holder.kill("SIGKILL");
    await this.holder.exited;
    await this.machine[Symbol.asyncDispose]();
  }
}
