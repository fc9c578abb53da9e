import { afterAll, beforeAll, expect, test } from "bun:test";
import { Sandbox } from "@boxyard/sdk";
import { Template } from "@boxyard/sdk/template";
import { startRegistry } from "../../packages/server/src/registry/testing/registry-process.ts";
import { usePlatform } from "../support/platform.ts";
import { pushTinyImage } from "../support/tiny-image.ts";

/** Docker Hub's place is taken by a registry of our own: what is built must not depend on another machine. */
const registry = await startRegistry();
const platform = usePlatform({ env: { BOXYARD_REGISTRY: `${registry.host}/library` } });
const target = () => ({ apiUrl: platform().apiUrl, apiKey: platform().apiKey });

beforeAll(() => pushTinyImage("library/tiny", { OnBuild: ["RUN echo of the image"] }, { host: registry.host }), 60_000);
afterAll(() => registry[Symbol.asyncDispose]());

test.each([
  ["short", "FROM tiny\nRUN echo made > /made"],
  ["full", "FROM docker.io/library/tiny:latest\nRUN echo made > /made"],
  ["copied from", "FROM boxyard/base\nCOPY --from=tiny /bin/busybox /made\nUSER root\nRUN echo made > /made"],
])(
  "a Dockerfile's image by its %s name comes from the mirror",
  async (kind, text) => {
    const name = `names-${kind.replaceAll(" ", "-")}-${crypto.randomUUID().slice(0, 8)}`;
    const lines: string[] = [];
    await Template.fromDockerfile(text).build(name, { ...target(), onLog: ({ message }) => void lines.push(message) });
    // An image that is copied from is not built on.
    expect(lines.some((line) => line.includes("RUN echo of the image"))).toBe(kind !== "copied from");
    expect(lines.filter((line) => line.includes("not done"))).toEqual([]);
    await using sandbox = await Sandbox.create(name, target());
    expect(await sandbox.files.read("/made")).toBe("made\n");
    await sandbox.kill();
    await Template.delete(name, target());
  },
  60_000,
);
