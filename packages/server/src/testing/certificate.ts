import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface TestCertificate {
  readonly key: string;
  readonly cert: string;
}

/** A certificate for `localhost` that nobody trusts, and its key. */
export function testCertificate(): TestCertificate {
  const name = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
  const directory = mkdtempSync(join(tmpdir(), "boxyard-certificate-"));
  try {
    const words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out cert.pem -days 2";
    execFileSync("openssl", [...words.split(" "), ...name], { cwd: directory, stdio: "ignore" });
    return { key: readFileSync(join(directory, "key.pem"), "utf8"), cert: readFileSync(join(directory, "cert.pem"), "utf8") };
  } finally {
    rmSync(directory, { recursive: true });
  }
}
