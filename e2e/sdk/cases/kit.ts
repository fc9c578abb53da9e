import assert from "node:assert/strict";
import type * as Sdk from "@boxyard/sdk";

/** The package under test, a sandbox of the running platform, and how to reach that. */
export interface Subject {
  readonly sdk: typeof Sdk;
  readonly sandbox: Sdk.Sandbox;
  readonly options: { readonly apiUrl: string; readonly apiKey: string };
}

export type Case = readonly [name: string, run: (subject: Subject) => Promise<void>];

/** The error that a call fails with. */
export async function failure<T extends Error>(call: Promise<unknown>, Class: abstract new (...args: never[]) => T): Promise<T> {
  const error = await call.then(
    (value) => assert.fail(`expected ${Class.name}, got ${JSON.stringify(value)}`),
    (cause: unknown) => cause,
  );
  assert.ok(error instanceof Class, `expected ${Class.name}, got ${String(error)}`);
  return error;
}

export const bytes = (text: string) => new TextEncoder().encode(text);

export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 10_000; !(await isSo()); ) {
    assert.ok(Date.now() < deadline, "not within 10 s");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
