import { isSandboxId } from "@boxyard/core";
import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { download } from "../cp/download.ts";
import { kindOf } from "../cp/local-tree.ts";
import { upload } from "../cp/upload.ts";
import { usageError } from "../errors.ts";
import { attachSandbox, mayBeSandbox } from "../sandbox-ref.ts";

const EXAMPLES = `
A place in a sandbox is SANDBOX:PATH; a relative path is relative to the user's home directory. Directories are copied with all that is in them.
If the target is a directory, or ends with /, the copy goes into it; of DIRECTORY/. all that is in it does. '-' as target prints one file. Symbolic links are copied as links; links that
lead out of the directory are skipped.

Examples:
  $ boxyard cp main.py SANDBOX:
  $ boxyard cp project/ SANDBOX:/srv/project
  $ boxyard cp SANDBOX:/srv/project/out.csv .
  $ boxyard cp SANDBOX:/srv/project/. project
  $ boxyard cp SANDBOX:notes.txt - | less`;

export function configure(command: Command, context: CliContext): void {
  command
    .description("Copy files and directories to and from a sandbox.")
    .argument("<source>", "local path, or SANDBOX:PATH")
    .argument("<target>", "local path, or SANDBOX:PATH")
    .option("--user <name>", "user in the sandbox (default: the template's)")
    .addHelpText("after", EXAMPLES)
    .action((source: string, target: string, options: { user?: string }) => cp(source, target, options, context));
}

async function cp(source: string, target: string, { user }: { user?: string }, context: CliContext): Promise<void> {
  const from = place(source);
  const to = place(target);
  if (from.sandbox && to.sandbox) throw usageError("one of the two places must be local");
  if (from.sandbox) return download(await attachSandbox(from.sandbox, context), from.path || "./", to.path, user, context);
  if (to.sandbox) return upload(await attachSandbox(to.sandbox, context), from.path, to.path, user, context);
  throw usageError("one of the two places must be in a sandbox: SANDBOX:PATH (`boxyard sandbox list` shows the ids)");
}

function place(text: string): { sandbox?: string; path: string } {
  const at = text.indexOf(":");
  const sandbox = text.slice(0, Math.max(at, 0));
  // A local file may have a colon in its name; an id is never one.
  const isLocal = !isSandboxId(sandbox) && kindOf(text) !== undefined;
  return at > 0 && mayBeSandbox(sandbox) && !isLocal ? { sandbox, path: text.slice(at + 1) } : { path: text };
}
