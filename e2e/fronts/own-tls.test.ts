import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, runProgram } from "@boxyard/testkit";
import { BOXYARD } from "../cli/support.ts";
import { runOutside, STREAMED_THROUGH } from "../support/outside-clients.ts";
import { usePlatform } from "../support/platform.ts";
import { pythonClient } from "../support/published.ts";

/*
 * The server's own TLS with the certificate that `boxyard cert` makes, and the published clients with nothing but a domain and a key.
 */
const port = await freePort();
const directory = mkdtempSync(join(tmpdir(), "boxyard-own-tls-"));
const authority = { directory, ca: join(directory, "tls/authority.pem") };
const [cert, key] = [join(directory, "tls/boxyard.example.pem"), join(directory, "tls/boxyard.example.key")];
const makeCertificate = () => runProgram([BOXYARD, "cert", "boxyard.example"], { env: { BOXYARD_DATA: directory } });

beforeAll(async () => {
  const { exitCode, stdout, stderr } = await makeCertificate();
  expect({ exitCode, stdout, stderr: exitCode === 0 ? "" : stderr }).toEqual({
    exitCode: 0,
    stdout: `BOXYARD_DOMAIN=boxyard.example\nBOXYARD_PUBLIC_URL=https://api.boxyard.example\nBOXYARD_TLS_CERT=${cert}\nBOXYARD_TLS_KEY=${key}\n`,
    stderr: "",
  });
}, 60_000);
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const platform = usePlatform({
  env: {
    BOXYARD_DOMAIN: `boxyard.example:${port}`,
    BOXYARD_PUBLIC_URL: `https://api.boxyard.example:${port}`,
    BOXYARD_TLS_LISTEN: `127.0.0.1:${port}`,
    BOXYARD_TLS_CERT: cert,
    BOXYARD_TLS_KEY: key,
  },
});
const outside = (argv: readonly string[]) => runOutside(platform(), { authority, port }, argv);

test("a program with a key and a domain streams, uploads, and reaches a sandbox's port and its WebSocket", async () => {
  const ended = await outside(["node", "e2e/fronts/through.mjs"]);
  expect({ exitCode: ended.exitCode, stderr: ended.stderr }).toEqual({ exitCode: 0, stderr: "" });
  const lines = ended.stdout.trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line))).toEqual(STREAMED_THROUGH);
}, 120_000);

test("clients of HTTP/2 share one connection for the API and for ports of sandboxes", async () => {
  const ended = await outside(["node", "e2e/fronts/over-http2.mjs"]);
  expect({ exitCode: ended.exitCode, stderr: ended.stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(JSON.parse(ended.stdout)).toEqual({ spoken: "h2", health: 200, host: true, uploaded: 8 << 20, at_once: 50 });
}, 120_000);

test("so does one in Python", async () => {
  const ended = await outside([await pythonClient(), "e2e/fronts/through.py"]);
  expect(ended).toMatchObject({ exitCode: 0, stderr: "", stdout: "written from outside\n" });
}, 240_000);

test("a second certificate is of the same authority, and for names below the domain alone", async () => {
  const before = await Bun.file(authority.ca).text();
  const first = await Bun.file(cert).text();
  expect((await makeCertificate()).exitCode).toBe(0);
  expect([await Bun.file(authority.ca).text(), (await Bun.file(cert).text()) === first]).toEqual([before, false]);
  const verify = (name: string) => runProgram(["openssl", "verify", "-CAfile", authority.ca, "-verify_hostname", name, cert]);
  expect((await verify("8080-i00000000000000000000.boxyard.example")).exitCode).toBe(0);
  expect((await verify("boxyard.example")).exitCode).toBe(0);
  expect((await verify("other.example")).exitCode).not.toBe(0);
}, 60_000);
