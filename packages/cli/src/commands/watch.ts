import type { FileEvent } from "@boxyard/sdk";
import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { attachSandbox } from "../sandbox-ref.ts";

interface WatchOptions {
  readonly recursive?: boolean;
  readonly user?: string;
  readonly json?: boolean;
}

export function configure(command: Command, context: CliContext): void {
  command
    .description("Show changes in a directory of a sandbox, one per line, until Ctrl-C.")
    .argument("<sandbox>", "id, name, or beginning of the id of a sandbox")
    .argument("[path]", "directory; relative to the user's home", ".")
    .option("-r, --recursive", "also in the directories below")
    .option("--user <name>", "user in the sandbox (default: the template's)")
    .option("--json", "one JSON object per line")
    .addHelpText(
      "after",
      "\nA 'write' of '.' means that changes came too fast to be reported one by one.\n\nExamples:\n  $ boxyard watch SANDBOX -r /home/user/project",
    )
    .action((id: string, path: string, options: WatchOptions) => watch(id, path, options, context));
}

async function watch(id: string, path: string, options: WatchOptions, context: CliContext): Promise<void> {
  const { output, signal } = context;
  const sandbox = await attachSandbox(id, context);
  const print = ({ type, name }: FileEvent) => output.line(options.json ? JSON.stringify({ type, name }) : `${type.padEnd(6)}  ${name}`);
  const ended = Promise.withResolvers<void>();
  const { recursive, user } = options;
  const onExit = (error?: Error) => (error ? ended.reject(error) : ended.resolve());
  const handle = await sandbox.files.watchDir(path, print, { recursive, user, timeoutMs: 0, onExit });
  output.note(output.dim(`watching ${path}; Ctrl-C ends it`));
  signal.addEventListener("abort", () => void handle.stop(), { once: true });
  await ended.promise;
}
