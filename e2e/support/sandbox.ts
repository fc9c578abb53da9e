import type { Platform } from "@boxyard/testkit";
import * as e2b from "e2b";

export interface Ended {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The public client's sandbox, killed at the end of the block that holds it with `await using`. */
export interface HeldSandbox extends AsyncDisposable {
  readonly id: string;
  readonly client: e2b.Sandbox;
  /** Runs a command as root of the sandbox through a shell; failures are results, not exceptions. */
  asRoot(command: string, options?: e2b.CommandStartOpts): Promise<Ended>;
}

/** How to reach a platform with the public client, from the variables that `boxyard env` prints. */
export function connection(platform: Platform): { apiKey: string; apiUrl: string; sandboxUrl: string; domain: string } {
  const value = (name: string) => platform.env[name] ?? "";
  return {
    apiKey: value("E2B_API_KEY"),
    apiUrl: value("E2B_API_URL"),
    sandboxUrl: value("E2B_SANDBOX_URL"),
    domain: value("E2B_DOMAIN"),
  };
}

export async function createSandbox(platform: Platform, options: e2b.SandboxOpts = {}, template = "base"): Promise<HeldSandbox> {
  return held(await e2b.Sandbox.create(template, { timeoutMs: 300_000, ...connection(platform), ...options }));
}

/** Another client of a sandbox that is there; a paused one is resumed. */
export async function reconnect(platform: Platform, id: string): Promise<HeldSandbox> {
  return held(await e2b.Sandbox.connect(id, connection(platform)));
}

function held(client: e2b.Sandbox): HeldSandbox {
  return {
    id: client.sandboxId,
    client,
    async asRoot(command, more = {}) {
      try {
        return await client.commands.run(command, { user: "root", timeoutMs: 30_000, ...more, background: false });
      } catch (error) {
        if (error instanceof e2b.CommandExitError) return error;
        throw error;
      }
    },
    async [Symbol.asyncDispose]() {
      await client.kill();
    },
  };
}
