import { afterAll, beforeAll } from "bun:test";
import { bootPlatform, type Platform, type PlatformOptions } from "@boxyard/testkit";

/** Boots the platform once for a test file, and disposes it at its end. Call at the top level; use the result inside tests only. */
export function usePlatform(options: PlatformOptions = {}): () => Platform {
  let platform: Platform | undefined;
  beforeAll(async () => {
    platform = await bootPlatform(options);
  }, 60_000);
  afterAll(async () => {
    await platform?.[Symbol.asyncDispose]();
  }, 60_000);
  return () => {
    if (!platform) throw new Error("The platform did not start; see the failure of beforeAll");
    return platform;
  };
}
