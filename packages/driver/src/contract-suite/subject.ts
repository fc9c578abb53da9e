import { AppError } from "@boxyard/core";
import type { SandboxDriver } from "../driver.ts";
import type { SandboxHandle } from "../handle.ts";
import type { AgentAddress, SandboxSpec } from "../runtime/types.ts";

/** What the suites need from an implementation, in addition to the contract. */
export interface ContractSubject {
  /** The current driver: another one after `reopen`. */
  readonly driver: SandboxDriver;
  /** A valid spec with a new id and an existing image that boots. */
  spec(): SandboxSpec;
  /** Closes the driver and opens another on the same machine, as a restarted server does. */
  reopen(): Promise<void>;
  /** Ends the agent of a running sandbox from within, as if it had crashed. */
  endAgent(handle: SandboxHandle): Promise<void>;
  /** Stops a `create` in the middle, as `kill -9` would; resolves with the handle of the unfinished sandbox. */
  leaveHalfMade(): Promise<SandboxHandle>;
  /** Makes the next start hang, until `mend`. */
  breakStarts(): void;
  /** Damages what the driver keeps of a sandbox, of its generation, of a snapshot or of a volume, until `mend`, so that the driver cannot read it. */
  damage(what: Damageable): Promise<void>;
  /** Undoes `breakStarts` and `damage`. What was removed since stays removed. */
  mend(): Promise<void>;
  /** Writes a file inside a running sandbox (absolute path; directories are made), as a command in it would. */
  write(handle: SandboxHandle, path: string, text: string): Promise<void>;
  /** Text of a file as a running sandbox sees it. */
  read(handle: SandboxHandle, path: string): Promise<string>;
  /**
   * Has a running sandbox ask for a host's name, and connect to a TCP port of an IPv4 address, as a command in it would; neither needs to succeed. Then
   * asks `isTold` until it is true, with a deadline. Absent where the driver cannot know what its sandboxes try to reach.
   */
  tryToReach?(handle: SandboxHandle, target: Target, isTold: () => boolean): Promise<void>;
  /** Releases everything. */
  dispose(): Promise<void>;
}

export interface Target {
  readonly name: string;
  readonly address: string;
  readonly port: number;
}

export type Damageable =
  | { readonly sandbox: SandboxHandle }
  | { readonly generation: SandboxHandle }
  | { readonly snapshot: string }
  | { readonly volume: string };

export type Subject = () => ContractSubject;

export const TIMEOUT_MS = 60_000;
export const never = new AbortController().signal;

/** Code of the error with which a promise rejects; `resolved` if it resolves. */
export async function codeOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => "resolved",
    (error: unknown) => (error instanceof AppError ? error.code : String(error)),
  );
}

/** As `codeOf`, its reason. */
export async function reasonOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => "resolved",
    (error: unknown) => (error instanceof AppError ? error.reason : String(error)),
  );
}

/** Standard output and standard error in one text. */
export async function failure(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => "resolved",
    (error: unknown) => (error instanceof AppError ? `${error.code} ${error.reason}` : String(error)),
  );
}

/** Status of the agent's health check; undefined when nothing answers in time. */
export async function health({ host, agentPort }: AgentAddress, timeoutMs = 2_000): Promise<number | undefined> {
  try {
    const response = await fetch(`http://${host}:${agentPort}/health`, { signal: AbortSignal.timeout(timeoutMs), keepalive: false });
    await response.body?.cancel();
    return response.status;
  } catch {
    return undefined;
  }
}

/** Creates and starts a sandbox. */
export async function boot(subject: Pick<ContractSubject, "driver" | "spec">, spec = subject.spec()): Promise<SandboxHandle> {
  const handle = await subject.driver.create(spec, never);
  await subject.driver.start(handle, never);
  return handle;
}

export const listed = async (driver: SandboxDriver): Promise<string[]> => (await driver.list()).map((handle) => handle.sandboxId);
