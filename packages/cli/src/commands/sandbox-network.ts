import { Sandboxes } from "@boxyard/sdk/sandboxes";
import type { Command } from "commander";
import { connection } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { parsePort, parseSeconds } from "../options.ts";
import { resolveSandbox } from "../sandbox-ref.ts";

const URL_EXAMPLES = `
Examples:
  $ boxyard sandbox port-url SANDBOX 8000                 good for an hour
  $ boxyard sandbox port-url SANDBOX 8000 --expires 2d
  $ boxyard sandbox port-url SANDBOX 8000 --revoke`;

interface UrlOptions {
  /** Seconds. */
  readonly expires: number;
  readonly revoke?: boolean;
  readonly json?: boolean;
}

/** What others reach of a sandbox, and what it reaches. */
export function configureNetwork(command: Command, context: CliContext): void {
  command
    .command("port-url <sandbox>")
    .argument("<port>", "port in the sandbox", parsePort)
    .description("Print a link with which others reach a private port for a time, without a key or a token.")
    .option("--expires <seconds>", "time from now on after which it opens nothing, such as 30m or 2d; at most 7d", parseSeconds, 3600)
    .option("--revoke", "withdraw all links to this port, and cut what they have open")
    .option("--json", "print it as JSON")
    .addHelpText("after", URL_EXAMPLES)
    .action((id: string, port: number, options: UrlOptions) => portUrl(id, port, options, context));
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
