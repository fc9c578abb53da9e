import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { freePort, runProgram } from "@boxyard/testkit";
import { Authority, type FrontName, startFront } from "../support/fronts.ts";
import { runOutside, STREAMED_THROUGH } from "../support/outside-clients.ts";
import { usePlatform } from "../support/platform.ts";
import { pythonClient } from "../support/published.ts";

/*
 * docs/production.md as it stands: the settings of both fronts, in front of a server with the two variables of that document. The names are
 * this test's own: programs see a /etc/hosts that leads them to loopback.
 */
const port = await freePort();
const authority = new Authority();
const platform = usePlatform({
  env: { BOXYARD_DOMAIN: `boxyard.example:${port}`, BOXYARD_PUBLIC_URL: `https://api.boxyard.example:${port}` },
});

beforeAll(() => authority.make());
afterAll(() => authority[Symbol.dispose]());
const outside = (argv: readonly string[]) => runOutside(platform(), { authority, port }, argv);

for (const name of ["caddy", "nginx"] satisfies FrontName[]) {
  describe(`behind ${name} with the settings of docs/production.md`, () => {
    let front: AsyncDisposable | undefined;
    beforeAll(async () => {
      front = await startFront(name, { port, upstream: new URL(platform().apiUrl).host, authority });
    }, 300_000);
    afterAll(() => front?.[Symbol.asyncDispose]());

    test("a program with a key and a domain streams, uploads, and reaches a sandbox's port and its WebSocket", async () => {
      const ended = await outside(["node", "e2e/fronts/through.mjs"]);
      expect({ exitCode: ended.exitCode, stderr: ended.stderr }).toEqual({ exitCode: 0, stderr: "" });
      expect(
        ended.stdout
          .trimEnd()
          .split("\n")
          .map((line) => JSON.parse(line)),
      ).toEqual(STREAMED_THROUGH);
    }, 100_000);

    test("so does one in Python", async () => {
      expect(await outside([await pythonClient(), "e2e/fronts/through.py"])).toMatchObject({
        exitCode: 0,
        stderr: "",
        stdout: "written from outside\n",
      });
    }, 240_000);

    test("a build's upload link leads to the front", async () => {
      const curl = async (method: string, path: string, body?: object) => {
        const address = ["--resolve", `api.boxyard.example:${port}:127.0.0.1`, `https://api.boxyard.example:${port}${path}`];
        const data = body ? ["-H", "Content-Type: application/json", "-d", JSON.stringify(body)] : [];
        const key = ["-H", `X-API-Key: ${platform().apiKey}`, "--cacert", authority.ca];
        return JSON.parse((await runProgram(["curl", "-s", "--noproxy", "*", "-X", method, ...key, ...data, ...address])).stdout);
      };
      const { templateID } = await curl("POST", "/v3/templates", { name: "fronted" });
      const { url } = await curl("GET", `/templates/${templateID}/files/${"a".repeat(64)}`);
      expect(url).toStartWith(`https://api.boxyard.example:${port}/`);
      await curl("DELETE", `/templates/${templateID}`).catch(() => {});
    });
  });
}
