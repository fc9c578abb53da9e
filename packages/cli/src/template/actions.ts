import { Template, type TemplateInfo } from "@boxyard/sdk/template";
import { connection } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { EXIT, usageError } from "../errors.ts";
import { table } from "../output/table.ts";
import { bytes, duration } from "../output/units.ts";

const MIB = 1024 * 1024;

interface Json {
  readonly json?: boolean;
}

export async function list(options: Json, context: CliContext): Promise<void> {
  const found: TemplateInfo[] = [];
  for await (const info of Template.list(await connection(context))) found.push(info);
  if (options.json) return context.output.json(found);
  if (found.length === 0) return context.output.note("no templates; `boxyard template build --help` shows how to make one");
  const now = Date.now();
  const row = (info: TemplateInfo) => [
    info.names.join(" ") || "-",
    info.templateId,
    info.buildStatus,
    String(info.cpuCount),
    bytes(info.memoryMB * MIB),
    duration(now - info.updatedAt.getTime()),
    String(info.useCount),
  ];
  await context.output.line(table([["NAME", "ID", "STATUS", "CPUS", "MEMORY", "CHANGED", "USES"], ...found.map(row)]));
}

export async function info(name: string, options: Json, context: CliContext): Promise<void> {
  const target = await connection(context);
  const [found, tags] = await Promise.all([Template.getInfo(name, target), Template.getTags(name, target)]);
  if (options.json) return context.output.json({ ...found, tags });
  const rows = [
    ["template", found.templateId],
    ["names", found.names.join(" ") || "-"],
    ["status", found.buildStatus],
    ["tags", tags.map(({ tag, buildId }) => `${tag} (${buildId.slice(0, 8)})`).join(" ") || "-"],
    ["build", found.buildId],
    ["builds", String(found.buildCount)],
    ["cpus", String(found.cpuCount)],
    ["memory", bytes(found.memoryMB * MIB)],
    ["disk", bytes(found.diskSizeMB * MIB)],
    ["public", found.isPublic ? "yes" : "no"],
    ["created", found.createdAt.toISOString()],
    ["changed", found.updatedAt.toISOString()],
    ["last used", found.lastUsedAt?.toISOString() ?? "-"],
    ["sandboxes so far", String(found.useCount)],
  ];
  await context.output.line(table(rows));
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

export async function remove(names: readonly string[], context: CliContext): Promise<void> {
  if (names.length === 0) throw usageError("name the templates to delete");
  const server = await connection(context);
  for (const name of names) {
    if (await Template.delete(name, server)) await context.output.line(name);
    else {
      context.output.note(`no template ${name}`);
      context.exitCode = EXIT.failure;
    }
  }
}
