import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { edgeCertificate } from "../network/index.ts";
import type { SetupConfig } from "./types.ts";

/** Where an administrator puts a company's certificate authorities, and the bundles of these and all public ones. */
const ADDED = ["/usr/local/share/ca-certificates", "/etc/pki/ca-trust/source/anchors"];
const BUNDLES = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"];
const MAX_BUNDLE_BYTES = 4 << 20;
/** Bound of the certificates that are added to a sandbox's own bundle; they are sent with every create. */
const MAX_ADDED_BYTES = 1 << 20;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/** Variables that name a bundle for programs: OpenSSL and Python, curl, requests, Node and npm, pip, git, cargo, aws. */
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

/** The bundle to which the agent adds certificates (`caBundle` of its /init). */
const SANDBOX_BUNDLE = "/etc/ssl/certs/ca-certificates.crt";

export const bundleEnv = (path: string): Record<string, string> => Object.fromEntries(VARIABLES.map((name) => [name, path]));

/** Paths of authorities for the setting BOXYARD_AUTHORITIES: `machine`, `none`, or the path of a PEM file or of a directory with PEM files. */
export const authorityPlaces = (setting: string): readonly string[] =>
  setting === "none" ? [] : setting === "machine" ? ADDED : [setting];

/**
 * The added authorities for running sandboxes: certificates in PEM form, and the environment that makes programs use them. With those of the machine comes
 * the one by which the egress proxy opens TLS for hosts with rules: rules may come later, and programs read their authorities at their start.
 */
export function sandboxAuthorities(
  places: readonly string[],
  dataDir: string,
): {
  readonly pem: string;
  readonly env: Readonly<Record<string, string>>;
} {
  const pem = addedAuthorities(places) + edgeCertificate(join(dataDir, "network"));
  return { pem, env: pem === "" ? {} : bundleEnv(SANDBOX_BUNDLE) };
}

/** The authorities by which the egress proxy verifies servers: those of the machine, and those that BOXYARD_AUTHORITIES adds. Undefined: those of the runtime. */
export function serverAuthorities({ env }: Pick<SetupConfig, "env">): string | undefined {
  const bundle = machineBundle();
  return bundle === undefined
    ? undefined
    : `${bundle.trimEnd()}\n${addedAuthorities(authorityPlaces(env.BOXYARD_AUTHORITIES || "machine"))}`;
}

/** The certificates of these files and directories, concatenated; certificates beyond 1 MiB are left out. */
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

/** The machine's whole bundle; undefined when there is none of up to 4 MiB. */
export function machineBundle(): string | undefined {
  const path = BUNDLES.find((bundle) => existsSync(bundle) && statSync(bundle).size <= MAX_BUNDLE_BYTES);
  return path === undefined ? undefined : readFileSync(path, "utf8");
}
