import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Platform, runProgram } from "@boxyard/testkit";

/** An address that sandboxes may reach as far as the rules go (TEST-NET-2), and that nobody has. */
export const ALLOWED = "198.51.100.99";

/**
 * Stands where packets leave the sandboxes' router for the machine, counts those to some addresses and lets none of them go further: so an
 * attempt can be made without a packet on any real network, and "it was refused" is told from "nobody answered".
 */
export interface Guard extends AsyncDisposable {
  /** Packets that came through to an address, or of a whole protocol (`ipv6`). */
  counted(what: string): Promise<number>;
}

export async function standGuard(platform: Platform, addresses: readonly string[]): Promise<Guard> {
  const { instance } = JSON.parse(readFileSync(join(platform.dataDir, "instance.json"), "utf8")) as { instance: string };
  const table = `inet boxyard_${instance}_guard`;
  const rules = [...new Set(addresses)].map((address) => `iifname "by${instance}" ip daddr ${address} counter drop comment "${address}"`);
  rules.push(`iifname "by${instance}" meta nfproto ipv6 counter drop comment "ipv6"`);
  await nft(
    `table ${table}\ndelete table ${table}\ntable ${table} {\nchain watch {\ntype filter hook prerouting priority -450; policy accept;\n${rules.join("\n")}\n}\n}`,
  );
  return {
    async counted(what) {
      const listed = await nft(`list table ${table}`);
      const found = new RegExp(`counter packets (\\d+) bytes \\d+ drop comment "${what.replaceAll(".", "\\.")}"`).exec(listed);
      if (!found) throw new Error(`${what} is not guarded:\n${listed}`);
      return Number(found[1]);
    },
    [Symbol.asyncDispose]: async () => void (await nft(`delete table ${table}`)),
  };
}

async function nft(text: string): Promise<string> {
  const { exitCode, stdout, stderr } = await runProgram(["nft", "-f", "-"], { stdin: `${text}\n` });
  if (exitCode !== 0) throw new Error(`nft: ${stderr}`);
  return stdout;
}

/** Packets that the router has taken from the link of a sandbox with this address. */
export async function takenByRouter(platform: Platform, address: string): Promise<number> {
  const { instance } = JSON.parse(readFileSync(join(platform.dataDir, "instance.json"), "utf8")) as { instance: string };
  const link = `s${address
    .split(".")
    .map((part) => Number(part).toString(16).padStart(2, "0"))
    .join("")}`;
  const { stdout } = await runProgram(["nsenter", `--net=/run/boxyard/boxyard-${instance}`, "cat", "/proc/net/dev"]);
  const packets = new RegExp(`^\\s*${link}:\\s+\\d+\\s+(\\d+)`, "m").exec(stdout)?.[1];
  if (packets === undefined) throw new Error(`the router has no link ${link}:\n${stdout}`);
  return Number(packets);
}
