import { Usage, type UsageInfo } from "@boxyard/sdk/usage";
import type { Command } from "commander";
import { connectionToRead } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { table } from "../output/table.ts";
import { bytes, duration } from "../output/units.ts";
import { resolveSandbox } from "../sandbox-ref.ts";

interface UsageFlags {
  readonly from?: string;
  readonly to?: string;
  readonly json?: boolean;
}

const HELP = `
CPU is the time that processors have worked. MEMORY is what was in use, added up over the time that it was in use. Days are those of UTC.

Examples:
  $ boxyard usage
  $ boxyard usage --from 2026-11-01 --to 2026-11-30 --json`;

export function configure(command: Command, context: CliContext): void {
  command
    .description("Show what the sandboxes of your team have used on each of the last 30 days, or what one sandbox has used.")
    .argument("[sandbox]", "a sandbox, also one that has ended (by its whole id), for two days")
    .option("--from <day>", "first day: 2026-11-01")
    .option("--to <day>", "last day")
    .option("--json", "print it as JSON")
    .addHelpText("after", HELP)
    .action((sandbox: string | undefined, options: UsageFlags) =>
      sandbox === undefined ? days(options, context) : ofSandbox(sandbox, options, context),
    );
}

async function days({ json, ...range }: UsageFlags, context: CliContext): Promise<void> {
  const used = await Usage.days({ ...(await connectionToRead(context)), ...range });
  if (json) return context.output.json(used);
  const rows = used.map((day) => [day.date, String(day.sandboxes), ...columns(day)]);
  await context.output.line(table([["DAY", "CREATED", "RUNNING", "CPU", "MEMORY", "IN", "OUT"], ...rows]));
}

async function ofSandbox(text: string, { json }: UsageFlags, context: CliContext): Promise<void> {
  const target = await connectionToRead(context);
  const usage = await Usage.ofSandbox(await resolveSandbox(text, target), target);
  if (json) return context.output.json(usage);
  const [running = "", cpu = "", memory = "", received = "", sent = ""] = columns(usage);
  const ended = usage.endedAt ? [["ended", `${usage.endedAt.toISOString()} (${usage.reason ?? "unknown"})`]] : [];
  const rows = [["running", running], ["cpu", cpu], ["memory", memory], ["network", `${received} in, ${sent} out`], ...ended];
  await context.output.line(table(rows));
}

function columns({ runningSeconds, cpuSeconds, memoryMiBSeconds, networkReceivedBytes, networkSentBytes }: UsageInfo): string[] {
  const hours = (memoryMiBSeconds / 1024 / 3600).toFixed(3);
  return [
    duration(runningSeconds * 1000),
    `${cpuSeconds.toFixed(1)} s`,
    `${hours} GiB h`,
    bytes(networkReceivedBytes),
    bytes(networkSentBytes),
  ];
}
