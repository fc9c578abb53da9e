import { AppError } from "@boxyard/core";
import type { SandboxDriver } from "./driver.ts";
import { makeTar, type TarEntry } from "./fake/make-tar.ts";
import type { SandboxHandle, SandboxSpec } from "./runtime/types.ts";

/** What the suite needs from an implementation, in addition to the contract. */
export interface ImagesSubject {
  readonly driver: SandboxDriver;
  /** A valid spec with a fresh id and an image that boots. */
  spec(): SandboxSpec;
  reopen(): Promise<void>;
  /** Writes a file inside a running sandbox (absolute path; directories are made), as a command in it would. */
  write(handle: SandboxHandle, path: string, text: string): Promise<void>;
  /** Text of a file as a running sandbox sees it. */
  read(handle: SandboxHandle, path: string): Promise<string>;
  dispose(): Promise<void>;
}

export type LayerSubject = () => ImagesSubject;

export const streamOf = (bytes: Uint8Array): ReadableStream<Uint8Array> => new Blob([bytes as Uint8Array<ArrayBuffer>]).stream();

/** A tar with a random name in it, so that tests do not share layers. */
export const freshTar = (...entries: readonly TarEntry[]) =>
  makeTar([
    { path: "name", text: crypto.randomUUID() },
    { path: "opt", type: "directory" },
    { path: "opt/tool", text: "x", mode: 0o755 },
    ...entries,
  ]);

/** Code and reason of a rejection. */
export async function failure(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => "resolved",
    (error: unknown) => (error instanceof AppError ? `${error.code} ${error.reason}` : String(error)),
  );
}
