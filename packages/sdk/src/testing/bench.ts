import assert from "node:assert/strict";
import type * as Sdk from "../index.ts";
import { FAKE_API_KEY, FakePlatform } from "./fake-platform.ts";

/** What a case is given: the package, a fake platform, and a sandbox in it. */
export interface Bench {
  readonly sdk: typeof Sdk;
  readonly platform: FakePlatform;
  readonly url: string;
  readonly options: Sdk.ConnectionOptions;
  readonly sandbox: Sdk.Sandbox;
}

export type Case = readonly [name: string, run: (bench: Bench) => Promise<void>];

/** Runs one case on a platform of its own. */
export async function runCase(sdk: typeof Sdk, run: Case[1]): Promise<void> {
  const platform = new FakePlatform();
  const url = await platform.start();
  const options = { apiUrl: url, apiKey: FAKE_API_KEY };
  try {
    await run({ sdk, platform, url, options, sandbox: await sdk.Sandbox.create(options) });
  } finally {
    await platform.stop();
  }
}

/** The error that `call` fails with. */
export async function failure<T extends Error>(call: Promise<unknown>, Class: abstract new (...args: never[]) => T): Promise<T> {
  const error = await call.then(
    (value) => assert.fail(`expected ${Class.name}, got ${JSON.stringify(value)}`),
    (cause: unknown) => cause,
  );
  assert.ok(error instanceof Class, `expected ${Class.name}, got ${String(error)}`);
  return error;
}

/** Waits until `look` is true; throws after a minute, which a loaded machine may need. */
export async function until(look: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (!(await look())) {
    if (Date.now() > deadline) throw new Error(`still not so: ${look}`);
    await sleep(5);
  }
}

export const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
