import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { AppError, type TeamId } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import { z } from "zod";
import { DEFAULT_TEAM } from "../keys/keys.ts";
import type { Store, TemplateVersion } from "../store/index.ts";
import { parseTemplateReference } from "./reference.ts";

export const DEFAULT_TAG = "default";
const DEFAULT_DISK_MB = 10240;

/** A template file as set-up writes it into `$BOXYARD_DATA/templates`. */
const TemplateFile = z.object({
  version: z.literal(1),
  name: z.string().regex(/^[a-z0-9_-]{1,128}$/),
  image: z.object({ digest: z.string().min(1), layers: z.array(z.string()) }),
  cpuCount: z.number().positive().default(2),
  memoryMB: z.int().min(128).default(1024),
  diskMB: z.int().positive().optional(),
  env: z.record(z.string(), z.string()).default({}),
  user: z.string().default("user"),
  workdir: z.string().default("/home/user"),
});

/** The templates that sandboxes can be made from. */
export class Templates {
  private readonly store: Store;
  private versions: TemplateVersion[] = [];

  constructor(store: Store) {
    this.store = store;
  }

  async load(): Promise<void> {
    this.versions = await this.store.listTemplates();
  }

  /** The version that a reference means. Throws `not_found` (reasons `template_not_found`, `tag_not_found`) or `invalid_argument`. */
  resolve(text: string): TemplateVersion {
    const { namespace, name, tag } = parseTemplateReference(text);
    const known = namespace === undefined || namespace === DEFAULT_TEAM;
    const versions = known ? this.versions.filter((version) => version.name === name || version.templateId === name) : [];
    if (versions.length === 0) throw new AppError("not_found", `template '${text}' not found`, { reason: "template_not_found" });
    const found = versions.find((version) => version.tag === (tag ?? DEFAULT_TAG));
    if (!found) {
      throw new AppError("not_found", `tag '${tag ?? DEFAULT_TAG}' does not exist for template '${versions[0]?.name}'`, {
        reason: "tag_not_found",
      });
    }
    return found;
  }

  /** Ids of the templates that a filter by id or name means; none if there is no such template. */
  idsFor(nameOrId: string): Set<string> {
    return new Set(this.versions.filter((v) => v.name === nameOrId || v.templateId === nameOrId).map((v) => v.templateId as string));
  }

  /** Takes over the template files of the data folder. One that cannot be read is logged and left out. */
  async seed(folder: string, teamId: TeamId, now: number, logger: Logger): Promise<void> {
    const names = await readdir(folder).catch(() => [] as string[]);
    for (const name of names.filter((n) => n.endsWith(".json")).sort()) {
      try {
        const {
          version: _version,
          name: template,
          diskMB = DEFAULT_DISK_MB,
          ...rest
        } = TemplateFile.parse(JSON.parse(await readFile(join(folder, name), "utf8")));
        await this.store.putTemplate(teamId, template, DEFAULT_TAG, { ...rest, diskMB }, now);
      } catch (error) {
        logger.error({ err: error, file: name }, "template file left out");
      }
    }
    await this.load();
  }
}
