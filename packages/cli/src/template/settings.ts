import { AppError } from "@boxyard/core";
import { Template, type TemplateInfo } from "@boxyard/sdk/template";
import { connection, connectionToRead } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { table } from "../output/table.ts";
import { rulesOf } from "../retention-rules.ts";

type Sizes = TemplateInfo["maxResources"];
const NAMES = ["cpuCount", "memoryMB", "diskSizeMB"] as const satisfies readonly (keyof Sizes)[];

/** `memoryMB=2048 cpuCount=default` on top of what is set. Throws `invalid_argument` for a word that is no limit. */
function limitsOf(words: readonly string[], before: Sizes): Sizes {
  const limits: { -readonly [name in keyof Sizes]: Sizes[name] } = { ...before };
  for (const word of words) {
    const [, text = "", value = ""] = /^(\w+)=(\d+(?:\.\d+)?|default)$/.exec(word) ?? [];
    const name = NAMES.find((one) => one === text);
    if (name === undefined)
      throw new AppError("invalid_argument", `'${word}' is no limit: give NAME=NUMBER, or NAME=default. Names: ${NAMES.join(", ")}`, {
        reason: "bad_limit",
      });
    if (value === "default") delete limits[name];
    else limits[name] = Number(value);
  }
  return limits;
}

export async function limit(name: string, words: readonly string[], options: { json?: boolean }, context: CliContext): Promise<void> {
  const target = await (words.length > 0 ? connection : connectionToRead)(context);
  const before = (await Template.getInfo(name, target)).maxResources;
  const limits = limitsOf(words, before);
  if (words.length > 0) await Template.change(name, { ...target, maxResources: limits });
  if (options.json) return context.output.json(limits);
  await context.output.line(table(NAMES.map((one) => [one, String(limits[one] ?? "default")])));
}

export async function retention(name: string, words: readonly string[], { off }: { off?: boolean }, context: CliContext): Promise<void> {
  const isChange = off === true || words.length > 0;
  const target = await (isChange ? connection : connectionToRead)(context);
  if (isChange) await Template.change(name, { ...target, retention: rulesOf(words) });
  await context.output.json((await Template.getInfo(name, target)).retention);
}
