import { AppError } from "@boxyard/core";
import type { Command } from "commander";
import { connection } from "../connection.ts";
import type { CliContext } from "../context.ts";

const TEXT = `
The link works once, within a minute. The person who opens it uses the server as the holder of your key does.

Examples:
  $ boxyard dashboard`;

/** The server of a checkout makes the files of the dashboard first, if nobody has asked for them yet. */
const LIMIT_MS = 300_000;

export function configure(command: Command, context: CliContext): void {
  command
    .description("Print a link that opens the dashboard in a browser, signed in.")
    .addHelpText("after", TEXT)
    .action(() => printLink(context));
}

async function printLink(context: CliContext): Promise<void> {
  const { apiUrl, apiKey = "" } = await connection(context);
  // A reader of the link on its way can use it.
  const { hostname, protocol } = new URL(apiUrl);
  if (protocol !== "https:" && !/^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname)) {
    const details = { hint: `Open ${apiUrl}/dashboard and sign in with an API key.` };
    throw new AppError("failed_precondition", "links are for this machine and for servers behind TLS", { reason: "plain_http", details });
  }
  const response = await fetch(`${apiUrl}/dashboard/own/links`, {
    method: "POST",
    headers: { "X-API-Key": apiKey },
    signal: AbortSignal.timeout(LIMIT_MS),
  });
  const answer = (await response.json()) as { url?: string; message?: string };
  if (answer.url === undefined) {
    throw new AppError("unavailable", `the server gives no link: ${answer.message ?? response.status}`, { reason: "no_link" });
  }
  context.output.note("the link works once, within a minute:");
  await context.output.line(answer.url);
}
