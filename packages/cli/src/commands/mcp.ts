import { serveStreams } from "@boxyard/mcp";
import type { Command } from "commander";
import { connection } from "../connection.ts";
import type { CliContext } from "../context.ts";

const TEXT = `
An agent's client (Claude Code, Codex, Cursor, …) starts this command and speaks the Model Context Protocol with it: give it \`boxyard mcp\` as the
command of a server. The session's sandboxes end when the client does, unless they are kept.

Examples:
  $ boxyard env --agent`;

export function configure(command: Command, context: CliContext): void {
  command
    .description("Offer sandboxes to an AI agent: the Model Context Protocol on standard input and output.")
    .addHelpText("after", TEXT)
    .action(() =>
      // The server is set up and started by the first tool that needs it: clients wait only a minute for the first answer.
      serveStreams(() => connection(context), { input: process.stdin, output: process.stdout, signal: context.signal }),
    );
}
