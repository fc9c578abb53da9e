import { hashSources } from "../checkout.ts";
import { type Builder, runBuilder } from "./run-builder.ts";

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
const BUILDER: Builder = {
  what: "the client package",
  program: "packages/sdk/src/publish/main.ts",
  limitMs: 120_000,
  code: "internal",
  reason: "sdk_build",
};

/** Hash of the sources of the client package. */
export const sdkKey = (): string => hashSources(SOURCES);

/** Writes the client package of this checkout to the new file `target`. Runs the TypeScript compiler in its own process, about two seconds. */
export const buildSdk = (target: string, env: Readonly<Record<string, string | undefined>>): Promise<void> =>
  runBuilder(BUILDER, target, env);
