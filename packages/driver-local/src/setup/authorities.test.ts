import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { authorityPlaces, sandboxAuthorities } from "./authorities.ts";

const pem = (text: string) => `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`;

test("certificates of an administrator's directories are used, and other files there are ignored", () => {
  const directory = mkdtempSync(join(tmpdir(), "boxyard-authorities-"));
  try {
    expect(sandboxAuthorities([directory, join(directory, "absent")], directory)).toEqual({ pem: "", env: {} });
    mkdirSync(join(directory, "below"));
    writeFileSync(join(directory, "a.crt"), `comment\n${pem("one")}${pem("two")}`);
    writeFileSync(join(directory, "below/b.pem"), pem("three"));
    writeFileSync(join(directory, "README"), "not a certificate");
    symlinkSync("nowhere", join(directory, "dangling"));
    const found = sandboxAuthorities([directory], directory);
    expect(sandboxAuthorities([join(directory, "below/b.pem")], directory).pem).toBe(pem("three"));
    expect([authorityPlaces("none"), authorityPlaces(directory)]).toEqual([[], [directory]]);
    expect(found.pem).toBe(pem("one") + pem("two") + pem("three"));
    mkdirSync(join(directory, "network"));
    writeFileSync(join(directory, "network/authority.pem"), `-----BEGIN PRIVATE KEY-----\nkey\n-----END PRIVATE KEY-----\n${pem("edge")}`);
    expect(sandboxAuthorities([], directory).pem).toBe(pem("edge"));
    expect(found.env).toMatchObject({ SSL_CERT_FILE: "/etc/ssl/certs/ca-certificates.crt", NODE_EXTRA_CA_CERTS: expect.any(String) });
  } finally {
    rmSync(directory, { recursive: true });
  }
});
