import type { TeamId } from "@boxyard/core";
import type { LayerInfo } from "@boxyard/driver";
import { newestFirst, oldestFirst, type Page, type PageQuery, pageIn } from "../page.ts";
import type { BuildRecord, Store } from "../store/index.ts";
import { mainVersion } from "./catalog.ts";
import type { TemplateFiles } from "./template-files.ts";
import { isOfSnapshots, type Template, type Templates } from "./templates.ts";

export interface TemplateListsDeps {
  readonly templates: Pick<Templates, "find" | "ofTeam">;
  readonly files: Pick<TemplateFiles, "areMissing" | "layer">;
  readonly store: { readonly templates: Pick<Store["templates"], "listBuilds"> };
}

/** A template with what a list shows of it. */
export interface TemplateEntry {
  readonly template: Template;
  /** All builds of the template, newest first. */
  readonly builds: readonly BuildRecord[];
  /** True: no sandbox can start from the template, because its files are not on this machine. */
  readonly areFilesMissing: boolean;
}

/** A layer of a template. */
export interface TemplateLayer {
  readonly digest: string;
  /** Undefined: it is not on this machine. */
  readonly info: LayerInfo | undefined;
  /** Ids of the team's other templates that have it. */
  readonly templates: readonly string[];
}

/** Other templates that are named for each layer. */
const MOST_SHARING = 100;

/** Lists a team's templates. Templates of snapshots are not among them: `SnapshotCatalog.list` has those. */
export class TemplateLists {
  private readonly deps: TemplateListsDeps;

  constructor(deps: TemplateListsDeps) {
    this.deps = deps;
  }

  /** Oldest first. */
  all(teamId: TeamId): Promise<TemplateEntry[]> {
    return this.entries(this.built(teamId));
  }

  /** The public ones, by id. */
  defaults(teamId: TeamId): Promise<TemplateEntry[]> {
    const found = this.built(teamId).filter(({ record }) => record.isPublic);
    return this.entries(found.sort((a, b) => (a.record.id < b.record.id ? -1 : 1)));
  }

  /** A page of `all`. */
  async page(teamId: TeamId, query: PageQuery): Promise<Page<TemplateEntry>> {
    const { items, next } = pageIn(this.built(teamId), oldestFirst, ({ record }) => ({ at: record.createdAt, id: record.id }), query);
    return { items: await this.entries(items), next };
  }

  /** A template that the team may use, with a page of its builds, newest first. Throws as `Templates.find` does. */
  async one(teamId: TeamId, text: string, query: PageQuery): Promise<{ entry: TemplateEntry; builds: Page<BuildRecord> }> {
    const entry = await this.entry(this.deps.templates.find(teamId, text));
    return { entry, builds: pageIn(entry.builds, newestFirst, ({ createdAt, id }) => ({ at: createdAt, id }), query) };
  }

  /** The layers of a template's main version, the lowest first. Throws as `Templates.find` does. */
  async layers(teamId: TeamId, text: string): Promise<{ readonly buildId: string | undefined; readonly layers: readonly TemplateLayer[] }> {
    const template = this.deps.templates.find(teamId, text);
    const main = mainVersion(template);
    const others = this.built(teamId).filter(({ record }) => record.id !== template.record.id);
    const have = (digest: string) => others.filter((other) => mainVersion(other)?.spec.image.layers.includes(digest));
    const layers = (main?.spec.image.layers ?? []).map(async (digest) => ({
      digest,
      info: await this.deps.files.layer(digest),
      templates: have(digest)
        .slice(0, MOST_SHARING)
        .map(({ record }) => record.id),
    }));
    return { buildId: main?.buildId, layers: await Promise.all(layers) };
  }

  private built(teamId: TeamId): Template[] {
    return this.deps.templates.ofTeam(teamId).filter((template) => !isOfSnapshots(template));
  }

  private entries(templates: readonly Template[]): Promise<TemplateEntry[]> {
    return Promise.all(templates.map((template) => this.entry(template)));
  }

  private async entry(template: Template): Promise<TemplateEntry> {
    const { store, files } = this.deps;
    const builds = await store.templates.listBuilds(template.record.id);
    return { template, builds, areFilesMissing: await files.areMissing(template) };
  }
}
