import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeFiles } from "@boxyard/dashboard/build";
import { TestServer, type TestServerOptions } from "../../packages/server/src/testing/test-server.ts";

/** A server over a fake driver that serves the dashboard: for pages whose content needs no real sandbox. */
export interface FakeDashboard extends AsyncDisposable {
  readonly server: TestServer;
}

export async function fakeDashboard(options: TestServerOptions = {}): Promise<FakeDashboard> {
  const directory = mkdtempSync(join(tmpdir(), "boxyard-pages-"));
  const files = join(directory, "out");
  await makeFiles(files);
  const server = await TestServer.start({ ...options, dashboardFiles: async () => files });
  return {
    server,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      rmSync(directory, { recursive: true });
    },
  };
}
