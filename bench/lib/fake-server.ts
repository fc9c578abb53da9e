import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { silentLogger } from "@boxyard/core/node";
import { FakeDriver, type FakeWorld } from "@boxyard/driver/fake";
import { type RunningServer, readConfig, startServer } from "@boxyard/server";

/** A server over a driver without machines, which listens: what is measured is the server itself. */
export function startFakeServer(dataDir: string, world: FakeWorld, env: Readonly<Record<string, string>> = {}): Promise<RunningServer> {
  const config = readConfig({ BOXYARD_DATA: dataDir, BOXYARD_LISTEN: "127.0.0.1:0", BOXYARD_LOG_LEVEL: "silent", ...env });
  return startServer({ config, driver: new FakeDriver(world), logger: silentLogger });
}

/** What a sandbox of the template `base` needs. To be called before the first start. */
export function giveTemplate(dataDir: string, world: FakeWorld): void {
  const digest = `sha256:${"b".repeat(64)}`;
  world.layers.set(digest, { info: { digest, sizeBytes: 1024, createdAt: 1 }, tar: new Uint8Array(1024) });
  mkdirSync(join(dataDir, "templates"));
  const template = { version: 1, name: "base", image: { digest: `sha256:${"a".repeat(64)}`, layers: [digest] } };
  writeFileSync(join(dataDir, "templates/base.json"), JSON.stringify(template));
}

/** Creates a sandbox of `base`, and returns its id. */
export async function createSandbox(url: string, key: string): Promise<string> {
  const response = await fetch(`${url}/v2/sandboxes`, {
    method: "POST",
    headers: { "X-API-Key": key, "Content-Type": "application/json" },
    body: JSON.stringify({ templateID: "base", timeout: 3600 }),
  });
  if (response.status !== 201) throw new Error(`a create answered ${response.status}: ${await response.text()}`);
  return ((await response.json()) as { sandboxID: string }).sandboxID;
}
