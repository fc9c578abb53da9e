import { existsSync, readFileSync } from "node:fs";
import type { FingerprintCheck } from "@boxyard/driver";
import { parseNetwork } from "./addresses.ts";
import { machineNameServers } from "./choose.ts";
import { findOverlaps } from "./machine.ts";
import { NETLINK_ROUTE, NetlinkSocket } from "./netlink/socket.ts";
import { runTool } from "./nft.ts";

export interface NetworkCheckConfig {
  /** From instance.json; undefined before the set-up. */
  readonly instance?: string;
  readonly network?: string;
  /** File with the name servers that answer sandboxes' questions; default `/etc/resolv.conf`. */
  readonly resolvConf?: string;
}

/** Network lines of `doctor`. They only read: nothing is changed and nothing is sent. */
export async function networkChecks(config: NetworkCheckConfig): Promise<FingerprintCheck[]> {
  return [await checkNftables(), checkRange(config), await checkForwardPolicy(config), checkNameServers(config)];
}

async function checkNftables(): Promise<FingerprintCheck> {
  const name = "network rules";
  try {
    const { exitCode, stdout, stderr } = await runTool(["nft", "--check", "-f", "-"], "table inet boxyard_probe {\n}\n");
    if (exitCode === 0) return { name, status: "ok", found: "nftables works" };
    const fix = "Run as root on a kernel with nf_tables (`modprobe nf_tables`)";
    return { name, status: "fail", found: `nft fails: ${(stderr || stdout).trim().slice(0, 200)}`, fix };
  } catch {
    return { name, status: "fail", found: "nft is not installed", fix: "Install the package nftables" };
  }
}

function checkRange({ instance, network }: NetworkCheckConfig): FingerprintCheck {
  const name = "network range";
  if (!network) return { name, status: "ok", found: "chosen at set-up" };
  const netlink = new NetlinkSocket(NETLINK_ROUTE);
  try {
    const found = findOverlaps(netlink, parseNetwork(network), `by${instance ?? ""}`, machineNameServers());
    if (found.length === 0) return { name, status: "ok", found: `${network} is used for sandboxes only` };
    const fix = "Set BOXYARD_NETWORK to a free range, end all sandboxes and run the set-up again";
    return { name, status: "warn", found: `${network} overlaps: ${found.slice(0, 3).join("; ")}`, fix };
  } finally {
    netlink.close();
  }
}

function checkNameServers({ resolvConf = "/etc/resolv.conf" }: NetworkCheckConfig): FingerprintCheck {
  const name = "name servers";
  const servers = machineNameServers(resolvConf);
  if (servers.length > 0) return { name, status: "ok", found: `sandboxes' names are resolved by ${servers.join(", ")}` };
  const fix = `Name a name server in ${resolvConf}, or run one on 127.0.0.1`;
  return { name, status: "warn", found: `no name server in ${resolvConf}`, fix };
}

interface Chain {
  readonly family: string;
  readonly table: string;
  readonly name: string;
  readonly hook?: string;
  readonly policy?: string;
}

/** Container engines and firewalls that drop forwarded packets, and the command by which each accepts our link. */
async function checkForwardPolicy({ instance }: NetworkCheckConfig): Promise<FingerprintCheck> {
  const name = "forwarding";
  const ok: FingerprintCheck = { name, status: "ok", found: "nothing on this machine drops what sandboxes send out" };
  const link = instance ? `by${instance}` : "by<instance>";
  const obstacles = [...(await nftObstacles(link)), ...(await legacyObstacles(link))];
  const [first] = obstacles;
  if (!first) return ok;
  return { name, status: "warn", found: `${first.who} drops forwarded packets: sandboxes can't reach the outside`, fix: first.fix };
}

interface Obstacle {
  readonly who: string;
  readonly fix: string;
}

async function nftObstacles(link: string): Promise<Obstacle[]> {
  const [list, rules] = await Promise.all([runTool(["nft", "-j", "list", "chains"]), runTool(["nft", "list", "ruleset"])]).catch(() => []);
  if (!list || !rules || list.exitCode !== 0) return [];
  const foreignRules = withoutOurTables(rules.stdout);
  if (foreignRules.includes(`"${link}"`)) return []; // another program's rule accepts the link already
  return parseChains(list.stdout).flatMap((chain) => obstacleOf(chain, link));
}

/** The chains in the output of `nft -j list chains`; none when the output has another form. */
export function parseChains(json: string): Chain[] {
  try {
    const { nftables } = JSON.parse(json) as { nftables: { chain?: Chain }[] };
    return nftables.flatMap((entry) => (entry.chain ? [entry.chain] : []));
  } catch {
    return [];
  }
}

/** What drops the packets of sandboxes in a chain of another program. */
export function obstacleOf(chain: Chain, link: string): Obstacle[] {
  if (chain.table.startsWith("boxyard_")) return [];
  if (chain.table === "firewalld" && chain.name === "filter_FORWARD") {
    return [{ who: "firewalld", fix: `firewall-cmd --permanent --zone=trusted --add-interface=${link} && firewall-cmd --reload` }];
  }
  const isIpv4 = chain.family === "ip" || chain.family === "inet";
  if (chain.hook !== "forward" || chain.policy !== "drop" || !isIpv4) return [];
  const isIptables = chain.family === "ip" && chain.table === "filter" && chain.name === "FORWARD";
  if (!isIptables) {
    const where = `${chain.family} ${chain.table} ${chain.name}`;
    return [
      {
        who: `The chain ${where}`,
        fix: `nft insert rule ${where} iifname ${link} accept; nft insert rule ${where} oifname ${link} accept`,
      },
    ];
  }
  return [iptablesObstacle("iptables", link)];
}

function iptablesObstacle(tool: string, link: string): Obstacle {
  if (existsSync("/etc/ufw/ufw.conf") && !existsSync("/var/run/docker.sock")) {
    return { who: "ufw", fix: `ufw route allow in on ${link} && ufw route allow out on ${link}` };
  }
  const chain = existsSync("/var/run/docker.sock") ? "DOCKER-USER" : "FORWARD";
  const fix = `${tool} -I ${chain} -i ${link} -j ACCEPT; ${tool} -I ${chain} -o ${link} -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT`;
  return {
    who: chain === "DOCKER-USER" ? "Docker's FORWARD policy" : "The FORWARD policy of iptables",
    fix: `${fix} (make it last with iptables-persistent)`,
  };
}

/** The legacy variant of iptables keeps its rules where nft does not see them. */
async function legacyObstacles(link: string): Promise<Obstacle[]> {
  let tables = "";
  try {
    tables = readFileSync("/proc/net/ip_tables_names", "utf8");
  } catch {
    return [];
  }
  if (!tables.split("\n").includes("filter")) return [];
  const result = await runTool(["iptables-legacy", "-S"]).catch(() => undefined);
  if (!result?.stdout.includes("-P FORWARD DROP") || result.stdout.includes(` ${link} `)) return [];
  return [iptablesObstacle("iptables-legacy", link)];
}

/** A ruleset's text without the tables of our instances. */
export function withoutOurTables(ruleset: string): string {
  return ruleset.replace(/^table inet boxyard_[0-9a-f]{8} \{\n[\s\S]*?^\}\n?/gm, "");
}
