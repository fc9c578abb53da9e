import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "@boxyard/core";

/** The files of a certificate of the local authority. */
export interface CertificateFiles {
  /** What clients are to trust. */
  readonly authority: string;
  readonly cert: string;
  readonly key: string;
}

const AUTHORITY_DAYS = 3650;
/** Browsers refuse certificates that are good for longer. */
const LEAF_DAYS = 398;
const NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

/**
 * Makes a certificate for a domain, its API and every port of its sandboxes (`api.DOMAIN`, `*.DOMAIN`), and the authority that signs it where there is none
 * yet. Files that are there are replaced as a whole, and the authority stays. Throws `failed_precondition`, reason `tool_missing`, without `openssl`.
 */
export async function makeCertificate(dataDir: string, domain: string): Promise<CertificateFiles> {
  const directory = join(dataDir, "tls");
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  chmodSync(directory, 0o700);
  const file = (name: string) => join(directory, name);
  const making = mkdtempSync(file(".making-"));
  try {
    if (!existsSync(file("authority.key")) || !existsSync(file("authority.pem"))) await makeAuthority(making, directory);
    await makeLeaf(making, directory, domain);
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
  return { authority: file("authority.pem"), cert: file(`${domain}.pem`), key: file(`${domain}.key`) };
}

async function makeAuthority(making: string, directory: string): Promise<void> {
  const extensions = ["-addext", "basicConstraints=critical,CA:TRUE,pathlen:0", "-addext", "keyUsage=critical,keyCertSign,cRLSign"];
  const words = ["req", "-x509", ...NEW_KEY, "-keyout", "ca.key", "-out", "ca.pem", "-days", String(AUTHORITY_DAYS)];
  await openssl(making, [...words, "-subj", "/CN=Boxyard's local authority", ...extensions]);
  // The key first: an authority without one is made anew.
  renameSync(join(making, "ca.key"), join(directory, "authority.key"));
  renameSync(join(making, "ca.pem"), join(directory, "authority.pem"));
}

async function makeLeaf(making: string, directory: string, domain: string): Promise<void> {
  const names = [domain, `*.${domain}`].map((name) => `DNS:${name}`);
  const extensions = [`subjectAltName=${names.join(",")}`, "extendedKeyUsage=serverAuth", "keyUsage=critical,digitalSignature"];
  writeFileSync(join(making, "leaf.ext"), `basicConstraints=critical,CA:FALSE\n${extensions.join("\n")}\n`);
  await openssl(making, ["req", ...NEW_KEY, "-keyout", "leaf.key", "-out", "leaf.csr", "-subj", `/CN=${domain.slice(0, 64)}`]);
  const signer = [
    "-CA",
    join(directory, "authority.pem"),
    "-CAkey",
    join(directory, "authority.key"),
    "-CAcreateserial",
    "-CAserial",
    "serial",
  ];
  await openssl(making, [
    ...["x509", "-req", "-in", "leaf.csr", ...signer, "-days", String(LEAF_DAYS), "-extfile", "leaf.ext", "-out", "leaf.pem"],
  ]);
  // The server takes the two when they fit, so it does not matter that one comes first.
  renameSync(join(making, "leaf.key"), join(directory, `${domain}.key`));
  renameSync(join(making, "leaf.pem"), join(directory, `${domain}.pem`));
}

/** Runs OpenSSL, which is on every machine with `ca-certificates`. Files that it makes are for root alone. */
async function openssl(cwd: string, words: readonly string[]): Promise<void> {
  const child = spawn("sh", ["-c", 'umask 077; exec openssl "$@"', "openssl", ...words], { cwd, stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-4000);
  });
  const status = await new Promise<number>((resolve, reject) => child.once("error", reject).once("close", (code) => resolve(code ?? 1)));
  if (status === 127) {
    const details = { hint: "apt-get install openssl" };
    throw new AppError("failed_precondition", "the program openssl is missing", { reason: "tool_missing", details });
  }
  if (status !== 0) throw new AppError("internal", `openssl ${words[0]} failed: ${said.trim()}`, { reason: "openssl" });
}
