import { join } from "node:path";
import { AppError } from "@boxyard/core";
import { CHECKOUT, hashSources } from "../checkout.ts";

/** Sources of the client package, relative to the checkout. */
const SOURCES = [
  "packages/sdk/src",
  "packages/sdk/package.json",
  "packages/sdk/PACKAGE.md",
  "packages/sdk/tsconfig.build.json",
  "packages/sdk/tsconfig.build-template.json",
  "packages/spec/src",
  "tsconfig.json",
  "LICENSE",
];
const BUILD_LIMIT_MS = 120_000;

/** Hash of the sources of the client package. */
export const sdkKey = (): string => hashSources(SOURCES);

/** Writes the client package of this checkout to the new file `target`. Runs the TypeScript compiler in its own process, about two seconds. */
export async function buildSdk(target: string, env: Readonly<Record<string, string | undefined>>): Promise<void> {
  const child = Bun.spawn([process.execPath, join(CHECKOUT, "packages/sdk/src/publish/main.ts"), target], {
    cwd: "/",
    env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    timeout: BUILD_LIMIT_MS,
  });
  const output = (await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])).join("").trim();
  const status = await child.exited;
  if (status === 0) return;
  throw new AppError("internal", `the client package cannot be built (status ${status}): ${output.slice(-2000)}`, { reason: "sdk_build" });
}
