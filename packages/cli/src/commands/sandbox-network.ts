import { setTimeout as sleep } from "node:timers/promises";
import type { NetworkLogEntry } from "@boxyard/sdk";
import { Sandboxes } from "@boxyard/sdk/sandboxes";
import { Argument, type Command } from "commander";
import { connection, connectionToRead } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { NETWORK_PRESETS, type NetworkPreset, parsePort, parseSeconds } from "../options.ts";
import { bytes } from "../output/units.ts";
import { resolveSandbox } from "../sandbox-ref.ts";

const URL_EXAMPLES = `
Examples:
  $ boxyard sandbox port-url SANDBOX 8000                 good for an hour
  $ boxyard sandbox port-url SANDBOX 8000 --expires 2d
  $ boxyard sandbox port-url SANDBOX 8000 --revoke`;

const LOG_EXAMPLES = `
Examples:
  $ boxyard sandbox network-log SANDBOX
  $ boxyard sandbox network-log SANDBOX --denied
  $ boxyard sandbox network-log SANDBOX --follow`;

/** Wait between two looks. */
const FOLLOW_MS = 1000;

interface LogOptions {
  readonly follow?: boolean;
  readonly denied?: boolean;
  readonly search?: string;
  readonly json?: boolean;
}

interface UrlOptions {
  /** Seconds. */
  readonly expires: number;
  readonly revoke?: boolean;
  readonly json?: boolean;
}

const NETWORK_HELP = `
packages: only the package registries that the pip, npm, apt, cargo and go of the server's machine are set to use.
This replaces all rules that were set before.

Examples:
  $ boxyard sandbox network SANDBOX none
  $ boxyard sandbox network SANDBOX all`;

/** What others reach of a sandbox, and what it reaches. */
export function configureNetwork(command: Command, context: CliContext): void {
  command
    .command("network <sandbox>")
    .addArgument(new Argument("<preset>", "what it may reach").choices(NETWORK_PRESETS))
    .description("Set what a running sandbox may reach, at once.")
    .addHelpText("after", NETWORK_HELP)
    .action(async (text: string, preset: NetworkPreset) => {
      const target = await connection(context);
      await Sandboxes.updateNetwork(await resolveSandbox(text, target), { preset }, target);
    });

  command
    .command("port-url <sandbox>")
    .argument("<port>", "port in the sandbox", parsePort)
    .description("Print a link with which others reach a private port for a time, without a key or a token.")
    .option("--expires <seconds>", "time from now on after which it opens nothing, such as 30m or 2d; at most 7d", parseSeconds, 3600)
    .option("--revoke", "withdraw all links to this port, and cut what they have open")
    .option("--json", "print it as JSON")
    .addHelpText("after", URL_EXAMPLES)
    .action((id: string, port: number, options: UrlOptions) => portUrl(id, port, options, context));

  command
    .command("network-log <sandbox>")
    .description("Show what a sandbox has tried to reach, and what decided: the newest thousand attempts.")
    .option("-f, --follow", "go on until Ctrl-C, or until the sandbox ends")
    .option("--denied", "only what was denied")
    .option("--search <text>", "only names and addresses that hold this text")
    .option("--json", "print each attempt as JSON")
    .addHelpText("after", LOG_EXAMPLES)
    .action((id: string, options: LogOptions) => networkLog(id, options, context));

  command
    .command("network-suggest <sandbox>")
    .description("Print the smallest network policy that lets through what a sandbox has tried to reach, as JSON.")
    .addHelpText("after", "\nExamples:\n  $ boxyard sandbox network-suggest SANDBOX")
    .action((id: string) => networkSuggest(id, context));
}

async function networkLog(text: string, { follow, denied, search, json }: LogOptions, context: CliContext): Promise<void> {
  const { output, signal } = context;
  const target = await connectionToRead(context);
  const id = await resolveSandbox(text, target);
  const filter = { ...(denied && { verdict: "denied" as const }), ...(search !== undefined && { search }) };
  let cursor: number | undefined;
  for (;;) {
    const entries = await Sandboxes.getNetworkLog(id, { ...target, ...filter, cursor });
    for (const entry of entries) await output.line(json ? JSON.stringify(entry) : lineOf(entry));
    cursor = entries.at(-1)?.cursor ?? cursor;
    if (!follow || signal.aborted) return;
    await sleep(FOLLOW_MS, undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
  }
}

/** `12:00:01 denied  tcp  198.51.100.9:25  denyOut 0.0.0.0/0` */
function lineOf(entry: NetworkLogEntry): string {
  const { timestamp, verdict, protocol, request, rule, count } = entry;
  const time = timestamp.toISOString().slice(0, 19).replace("T", " ");
  if (verdict === "dropped") return `${time} ${count} more, which were not kept`;
  return `${time} ${verdict.padEnd(7)} ${(protocol ?? "").padEnd(4)} ${request ?? goalOf(entry)}  ${rule}${movedBy(entry)}`;
}

/** `example.com (203.0.113.7)`, `example.com:443 (203.0.113.7)` or `203.0.113.7:443`. */
function goalOf({ name, address, port, answers }: NetworkLogEntry): string {
  const at = port === undefined ? "" : `:${port}`;
  if (name === undefined) return `${address}${at}`;
  const addresses = answers ?? (address === undefined ? [] : [address]);
  return `${name}${at}${addresses.length > 0 ? ` (${addresses.join(", ")})` : ""}`;
}

/** `, sent 1.5 KiB, received 20 MiB` of what is known. */
function movedBy({ verdict, sentBytes, receivedBytes }: NetworkLogEntry): string {
  if (verdict !== "allowed" || sentBytes === undefined || receivedBytes === undefined) return "";
  return `, sent ${bytes(sentBytes)}, received ${bytes(receivedBytes)}`;
}

async function networkSuggest(text: string, context: CliContext): Promise<void> {
  const target = await connectionToRead(context);
  await context.output.json(await Sandboxes.suggestNetwork(await resolveSandbox(text, target), target));
}

async function portUrl(text: string, port: number, { expires, revoke, json }: UrlOptions, context: CliContext): Promise<void> {
  const target = await connection(context);
  const { output } = context;
  const id = await resolveSandbox(text, target);
  if (revoke) return Sandboxes.revokePortUrls(id, port, target);
  const link = await Sandboxes.getPortUrl(id, port, { ...target, expiresInMs: expires * 1000 });
  if (json) return output.json(link);
  await output.line(link.url);
  if (link.isPublic) output.note(output.dim("the ports of this sandbox are public: everybody reaches them without the link too"));
}
