import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/** Where an administrator puts certificate authorities of the company's own, and the lists that hold them together with all others. */
const ADDED = ["/usr/local/share/ca-certificates", "/etc/pki/ca-trust/source/anchors"];
const BUNDLES = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"];
const MAX_BUNDLE_BYTES = 4 << 20;
/** What is added to a sandbox's own list; it goes there with every create. */
const MAX_ADDED_BYTES = 1 << 20;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/** How programs get a list: OpenSSL and Python, curl, requests, Node and npm, pip, git, cargo, aws. */
const VARIABLES = [
  "SSL_CERT_FILE",
  "CURL_CA_BUNDLE",
  "REQUESTS_CA_BUNDLE",
  "NODE_EXTRA_CA_CERTS",
  "npm_config_cafile",
  "PIP_CERT",
  "GIT_SSL_CAINFO",
  "CARGO_HTTP_CAINFO",
  "AWS_CA_BUNDLE",
];

/** The list to which the agent adds (`caBundle` of its /init). */
const SANDBOX_BUNDLE = "/etc/ssl/certs/ca-certificates.crt";

export const bundleEnv = (path: string): Record<string, string> => Object.fromEntries(VARIABLES.map((name) => [name, path]));

/** Where the setting BOXYARD_AUTHORITIES says that authorities are: `machine`, `none`, or the path of a PEM file or of a directory with such. */
export const authorityPlaces = (setting: string): readonly string[] =>
  setting === "none" ? [] : setting === "machine" ? ADDED : [setting];

/** What running sandboxes get of the machine's added authorities: certificates in PEM form, and the environment that leads programs there. */
export function machineAuthorities(places: readonly string[]): {
  readonly pem: string;
  readonly env: Readonly<Record<string, string>>;
} {
  const pem = addedAuthorities(places);
  return { pem, env: pem === "" ? {} : bundleEnv(SANDBOX_BUNDLE) };
}

/** The certificates of these files and directories, one after the other; those beyond 1 MiB are left out. */
export function addedAuthorities(places: readonly string[]): string {
  let pem = "";
  for (const file of places.flatMap(filesIn)) {
    for (const [certificate] of readFileSync(file, "utf8").matchAll(CERTIFICATE)) {
      if (pem.length + certificate.length < MAX_ADDED_BYTES) pem += `${certificate}\n`;
    }
  }
  return pem;
}

function filesIn(directory: string): string[] {
  if (!existsSync(directory)) return [];
  if (statSync(directory).isFile()) return [directory];
  const names = readdirSync(directory, { recursive: true, encoding: "utf8" }).sort();
  return names.map((name) => join(directory, name)).filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile());
}

/** The machine's whole list. */
export function machineBundle(): string | undefined {
  const path = BUNDLES.find((bundle) => existsSync(bundle) && statSync(bundle).size <= MAX_BUNDLE_BYTES);
  return path === undefined ? undefined : readFileSync(path, "utf8");
}
