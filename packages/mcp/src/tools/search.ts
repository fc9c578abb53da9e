import { z } from "zod";
import { ToolError } from "../errors.ts";
import { runCommand } from "./commands.ts";
import { outputPart } from "./output-text.ts";
import { sandboxTool } from "./tool.ts";

const WAIT_MS = 50_000;
const MAX_LINE = 300;
/** Less than is kept of a command's output, so that `wait` can read all of it. */
const MAX_BYTES = 200_000;

const SHORTEN = `2>&1 | cut -c1-${MAX_LINE} | head -c ${MAX_BYTES}`;
/** The arguments are the script's own, so that the shell reads none of them. */
const GREP = `exec grep -rnIE --exclude-dir=.git "$@" ${SHORTEN}`;
const FIND = `find "$1" -name .git -prune -o -name "$2" -print ${SHORTEN}`;

const search = sandboxTool({
  name: "search",
  description: "Search files below path: lines that match text (a regular expression), or names like *.py.",
  input: { path: z.string().default("."), text: z.string().optional(), name: z.string().optional() },
  readOnly: true,
  async run({ path, text, name }, member, call) {
    if (text === undefined && name === undefined) throw new ToolError("There is nothing to search for.", "Give `text` or `name`.");
    const include = name === undefined ? [] : [`--include=${name}`];
    const script = text === undefined ? [FIND, "sh", path, name as string] : [GREP, "sh", ...include, "-e", text, "--", path];
    const options = { timeoutMs: 0, retainOutput: false };
    const start = () => member.sandbox.commands.spawn(["/bin/sh", "-c", ...script], options);
    const command = await runCommand(start, WAIT_MS, member, call);
    if (command.end && command.output.end === 0) return "Nothing found.";
    command.shown = command.output.end;
    return outputPart(command, 0);
  },
});

export const searchTools = [search];
