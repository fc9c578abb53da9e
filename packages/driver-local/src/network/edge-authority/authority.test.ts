import { afterAll, beforeAll, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EdgeAuthority, edgeCertificate } from "./authority.ts";

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "boxyard-authority-"));
});
afterAll(() => rmSync(directory, { recursive: true }));

const open = () => EdgeAuthority.open(directory, "Boxyard test", Date.now);

test("an authority is made once, for root alone, and may sign servers but no authorities", async () => {
  expect(edgeCertificate(directory)).toBe("");
  await open();
  const first = edgeCertificate(directory);
  await open();
  expect(edgeCertificate(directory)).toBe(first);
  expect(statSync(join(directory, "authority.pem")).mode & 0o777).toBe(0o600);
  const authority = new X509Certificate(first);
  expect([authority.ca, authority.subject, authority.checkIssued(authority)]).toEqual([true, "CN=Boxyard test", true]);
  expect(first).not.toContain("PRIVATE");
});

test("a leaf is of one name, signed by the authority, and kept", async () => {
  const authority = await open();
  const leaf = await authority.leaf("api.example");
  const certificate = new X509Certificate(leaf.cert);
  const issuer = new X509Certificate(edgeCertificate(directory));
  expect([certificate.ca, certificate.verify(issuer.publicKey), certificate.checkIssued(issuer)]).toEqual([false, true, true]);
  expect([certificate.checkHost("api.example"), certificate.checkHost("b.api.example")]).toEqual(["api.example", undefined]);
  expect(await authority.leaf("api.example")).toBe(leaf);
  expect(await authority.leaf(`${"a".repeat(60)}.${"b".repeat(60)}.example`)).toBeDefined();
});

test("curl trusts a server with a leaf by the authority alone, and for its own name alone", async () => {
  const { cert, key } = await (await open()).leaf("api.example");
  const ca = join(directory, "ca.pem");
  await Bun.write(ca, edgeCertificate(directory));
  const server = Bun.serve({ hostname: "127.0.0.1", port: 0, tls: { cert, key }, fetch: () => new Response("served") });
  const curl = async (host: string) => {
    const to = ["--connect-to", `${host}:443:127.0.0.1:${server.port}`, `https://${host}/`];
    const run = Bun.spawn(["curl", "--silent", "--cacert", ca, ...to], { stdout: "pipe", env: { PATH: "/usr/bin:/bin" } });
    return `${await run.exited} ${await new Response(run.stdout).text()}`;
  };
  expect([await curl("api.example"), await curl("b.example")]).toEqual(["0 served", "60 "]);
  await server.stop(true);
});
