import { AppError } from "@boxyard/core";
import { hasErrno } from "../sys/libc.ts";
import { hasChain } from "./netlink/nf-tables.ts";
import type { NetlinkSocket } from "./netlink/socket.ts";
import type { Ruleset } from "./rules.ts";

/** Fixed, because the PATH of a service often lacks the sbin directories, and a caller's PATH could lead to other programs. */
const PATH = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin";
const TIMEOUT_MS = 20_000;

export interface ToolResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program of the machine to its end. Throws `ENOENT` when it is not installed; kills it after 20 s. */
export async function runTool(command: readonly string[], stdin = ""): Promise<ToolResult> {
  const program = Bun.which(command[0] ?? "", { PATH });
  if (!program) throw Object.assign(new Error(`${command[0]} is not installed`), { code: "ENOENT" });
  const child = Bun.spawn([program, ...command.slice(1)], {
    stdin: new TextEncoder().encode(stdin),
    stdout: "pipe",
    stderr: "pipe",
    env: { PATH, LC_ALL: "C" },
    timeout: TIMEOUT_MS,
    killSignal: "SIGKILL",
  });
  const [stdout, stderr, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { exitCode, stdout, stderr };
}

/** Runs `nft` with rules on its standard input, in the network namespace kept at `namespaceFile` if given. */
export async function nft(text: string, namespaceFile?: string): Promise<void> {
  const command = ["nft", "-f", "-"];
  let result: ToolResult;
  try {
    if (namespaceFile) await requireTool("nft");
    result = await runTool(namespaceFile ? ["nsenter", `--net=${namespaceFile}`, ...command] : command, text);
  } catch (error) {
    if (!hasErrno(error, "ENOENT")) throw error;
    const message = `${(error as Error).message}: install the packages nftables and util-linux`;
    throw new AppError("failed_precondition", message, { reason: "tool_missing", cause: error });
  }
  if (result.exitCode !== 0) {
    const first = result.stderr.trim().split("\n").slice(0, 3).join(" ");
    throw new AppError("internal", `nft refused the rules: ${first}`, { reason: "nft_failed" });
  }
}

async function requireTool(name: string): Promise<void> {
  if (!Bun.which(name, { PATH })) throw Object.assign(new Error(`${name} is not installed`), { code: "ENOENT" });
}

/** Puts a ruleset in force unless it is already; `netlink` is a netfilter socket of the same namespace. True when it changed something. */
export async function applyRules(netlink: NetlinkSocket, rules: Ruleset, namespaceFile?: string): Promise<boolean> {
  if (hasChain(netlink, rules.table, rules.marker)) return false;
  await nft(rules.text, namespaceFile);
  return true;
}

/** Deletes a table of the machine; fine when there is none. */
export async function deleteTable(table: string): Promise<void> {
  await nft(`table inet ${table}\ndelete table inet ${table}\n`);
}
