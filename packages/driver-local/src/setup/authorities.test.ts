import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { authorityPlaces, machineAuthorities } from "./authorities.ts";

const pem = (text: string) => `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`;

test("certificates of an administrator's folders are taken, whatever else lies there", () => {
  const folder = mkdtempSync(join(tmpdir(), "boxyard-authorities-"));
  try {
    expect(machineAuthorities([folder, join(folder, "absent")])).toEqual({ pem: "", env: {} });
    mkdirSync(join(folder, "below"));
    writeFileSync(join(folder, "a.crt"), `comment\n${pem("one")}${pem("two")}`);
    writeFileSync(join(folder, "below/b.pem"), pem("three"));
    writeFileSync(join(folder, "README"), "not a certificate");
    symlinkSync("nowhere", join(folder, "dangling"));
    const found = machineAuthorities([folder]);
    expect(machineAuthorities([join(folder, "below/b.pem")]).pem).toBe(pem("three"));
    expect([authorityPlaces("none"), authorityPlaces(folder)]).toEqual([[], [folder]]);
    expect(found.pem).toBe(pem("one") + pem("two") + pem("three"));
    expect(found.env).toMatchObject({ SSL_CERT_FILE: "/etc/ssl/certs/ca-certificates.crt", NODE_EXTRA_CA_CERTS: expect.any(String) });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
