import { Template, type TemplateInfo, type TemplateTag } from "@boxyard/sdk/template";
import { connection, connectionToRead } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { EXIT, usageError } from "../errors.ts";
import { canAsk, confirm } from "../output/confirm.ts";
import { table } from "../output/table.ts";
import { bytes, duration } from "../output/units.ts";

const MIB = 1024 * 1024;

interface Json {
  readonly json?: boolean;
}

export async function list(options: Json & { all?: boolean; quiet?: boolean }, context: CliContext): Promise<void> {
  const found: TemplateInfo[] = [];
  let hidden = 0;
  for await (const info of Template.list(await connectionToRead(context))) {
    // A template without a successful build is of use only to the person who works on it.
    if (options.all || info.buildStatus !== "error" || info.filesMissing || info.buildCount > 1) found.push(info);
    else hidden++;
  }
  if (options.json) return context.output.json(found);
  if (hidden > 0) context.output.note(context.output.dim(`${hidden} more, whose first build failed; --all shows them`));
  if (options.quiet) return found.length > 0 ? context.output.line(found.map(({ templateId }) => templateId).join("\n")) : undefined;
  if (found.length === 0) return context.output.note("no templates; `boxyard template build --help` shows how to make one");
  const now = Date.now();
  const row = (info: TemplateInfo) => [
    info.names.join(" ") || "-",
    info.templateId,
    statusOf(info),
    String(info.cpuCount),
    bytes(info.memoryMB * MIB),
    duration(now - info.updatedAt.getTime()),
    String(info.useCount),
  ];
  await context.output.line(table([["NAME", "ID", "STATUS", "CPUS", "MEMORY", "CHANGED", "USES"], ...found.map(row)]));
  if (found.some(({ filesMissing }) => filesMissing)) context.output.note(REBUILD);
}

const REBUILD =
  "missing: the files were lost with the storage pool; `boxyard template rebuild NAME` builds a template that comes with Boxyard again, `boxyard template build` one of yours";

const statusOf = ({ filesMissing, buildStatus }: TemplateInfo) => (filesMissing ? "missing" : buildStatus);

export async function info(name: string, options: Json, context: CliContext): Promise<void> {
  const target = await connectionToRead(context);
  const [found, tags] = await Promise.all([Template.getInfo(name, target), Template.getTags(name, target)]);
  if (options.json) return context.output.json({ ...found, tags });
  const rows = [
    ["template", found.templateId],
    ["names", found.names.join(" ") || "-"],
    ["status", statusOf(found)],
    ...tagRows(tags),
    ["build", found.buildId],
    ["builds", String(found.buildCount)],
    ...goingRows(found),
    ["cpus", String(found.cpuCount)],
    ["memory", bytes(found.memoryMB * MIB)],
    ["disk", bytes(found.diskSizeMB * MIB)],
    ...limitRow(found),
    ["public", found.isPublic ? "yes" : "no"],
    ["created", found.createdAt.toISOString()],
    ["changed", found.updatedAt.toISOString()],
    ["last used", found.lastUsedAt?.toISOString() ?? "-"],
    ["sandboxes so far", String(found.useCount)],
  ];
  await context.output.line(table(rows));
  if (found.filesMissing) context.output.note(REBUILD);
}

/** One row for each build that a rule of retention deletes, with the date. */
function goingRows({ builds = [] }: TemplateInfo): string[][] {
  const going = builds.flatMap(({ buildId, deleteAt }) => (deleteAt ? [`${buildId} at ${deleteAt.toISOString()}`] : []));
  return going.map((text, i) => [i === 0 ? "deleted" : "", text]);
}

/** The most that one of its sandboxes may have, where that is set. */
function limitRow({ maxResources }: TemplateInfo): string[][] {
  const set = Object.entries(maxResources).map(([name, value]) => `${name}=${value}`);
  return set.length === 0 ? [] : [["limits", set.join(" ")]];
}

/** One row for each tag, with the whole id of its build: `NAME:BUILD` means that build. */
function tagRows(tags: readonly TemplateTag[]): string[][] {
  if (tags.length === 0) return [["tags", "-"]];
  return tags.map(({ tag, buildId }, i) => [i === 0 ? "tags" : "", `${tag} (${buildId})`]);
}

export async function tag(target: string, tags: readonly string[], options: { remove?: boolean }, context: CliContext): Promise<void> {
  const server = await connection(context);
  if (options.remove) await Template.removeTags(target, tags, server);
  else await Template.assignTags(target, tags, server);
  context.output.note(`${options.remove ? "removed" : "set"} ${tags.join(", ")}`);
}

/** Makes templates public, or private again. */
export async function publish(names: readonly string[], isPublic: boolean, context: CliContext): Promise<void> {
  const server = await connection(context);
  for (const name of names) {
    await Template.setPublic(name, isPublic, server);
    await context.output.line(name);
  }
}

export async function remove(names: readonly string[], options: { yes?: boolean }, context: CliContext): Promise<void> {
  if (names.length === 0) throw usageError("name the templates to delete");
  if (!options.yes && canAsk()) await confirm(`Delete ${names.join(", ")} with all builds and tags?`, context);
  const server = await connection(context);
  for (const name of names) {
    if (await Template.delete(name, server)) await context.output.line(name);
    else {
      context.output.note(`no template ${name}`);
      context.exitCode = EXIT.failure;
    }
  }
}
