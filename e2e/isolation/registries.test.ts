import { afterAll, expect, test } from "bun:test";
import { networkInterfaces } from "node:os";
import { type BuildError, Template } from "@boxyard/sdk/template";
import { usePlatform } from "../support/platform.ts";

/* What a tenant, or a registry that a tenant names, could make the server fetch; on a server whose operator has listed no registry. */

const platform = usePlatform({ env: { BOXYARD_PRIVATE_REGISTRIES: "" } });
const options = () => ({ apiUrl: platform().apiUrl, apiKey: platform().apiKey });

const asked: string[] = [];
/** A service of the machine that nobody but the machine should reach. */
const service = Bun.serve({
  hostname: "0.0.0.0",
  port: 0,
  fetch: (request) => {
    asked.push(request.url);
    return Response.json({ access_token: "of the machine" });
  },
});
afterAll(() => service.stop(true));

test("nothing on the machine and in its networks is asked by the name of an image", async () => {
  const own = Object.values(networkInterfaces()).flatMap((list) => (list ?? []).filter(({ family }) => family === "IPv4"));
  const hosts = new Set(["127.0.0.1", "localhost", "127.1.2.3", "[::1]", ...own.map(({ address }) => address)]);
  for (const host of hosts) {
    const failure: BuildError = await Template.fromImage(`${host}:${service.port}/app`)
      .build("fetches-inside", options())
      .then(
        () => expect.unreachable(),
        (error) => error,
      );
    expect([host, failure.step, failure.message]).toEqual([host, "base", expect.stringContaining("Nothing is fetched from")]);
  }
  expect(asked).toEqual([]);
  // The service is there for those who may reach it.
  expect((await fetch(`http://127.0.0.1:${service.port}/`)).status).toBe(200);
}, 60_000);
