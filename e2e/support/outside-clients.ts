import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { CHECKOUT, type Platform, type ProgramResult, runProgram } from "@boxyard/testkit";
import { echoProgram } from "./echo-program.ts";
import type { Authority } from "./fronts.ts";
import { createSandbox } from "./sandbox.ts";

/** The echo of other tests, which tells the fields of its requests at `/headers`. */
const ECHO = echoProgram("0.0.0.0", 8080).replace(
  'response.end("plain")',
  'response.end(request.url === "/headers" ? JSON.stringify(request.headers) : "plain")',
);

/** What `e2e/fronts/through.mjs` says when all has come through. */
export const STREAMED_THROUGH = [
  { streamed: "first\nsecond\n" },
  { uploaded: 24 << 20, same: true },
  { host: true, underscore: "1" },
  { echoed: "ahoj" },
];

/**
 * Runs a program that has a key, the domain `boxyard.example` with a port, an authority that it trusts, and the id of a sandbox of which all names resolve:
 * it sees a /etc/hosts that leads them to loopback.
 */
export async function runOutside(
  platform: Platform,
  { authority, port }: { readonly authority: Pick<Authority, "directory" | "ca">; readonly port: number },
  argv: readonly string[],
): Promise<ProgramResult> {
  await using sandbox = await createSandbox(platform);
  const hosts = join(authority.directory, "hosts");
  const names = [8080, 49983].map((inner) => `${inner}-${sandbox.id}.boxyard.example`);
  writeFileSync(hosts, `127.0.0.1 localhost api.boxyard.example ${names.join(" ")}\n`);
  const env = {
    PATH: platform.env.PATH,
    HOME: platform.env.HOME,
    E2B_DOMAIN: `boxyard.example:${port}`,
    E2B_API_KEY: platform.apiKey,
    NODE_EXTRA_CA_CERTS: authority.ca,
    SSL_CERT_FILE: authority.ca,
    NO_PROXY: "*",
    SANDBOX: sandbox.id,
    ECHO_PROGRAM: ECHO,
  };
  const withNames = ["unshare", "--mount", "sh", "-c", `mount --bind ${hosts} /etc/hosts && exec "$@"`, "sh", ...argv];
  return await runProgram(withNames, { cwd: CHECKOUT, env, limitMs: 90_000 });
}
