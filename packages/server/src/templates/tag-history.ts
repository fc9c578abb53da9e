import { AppError, type TeamId } from "@boxyard/core";
import type { Store, TagAssignment, TemplateRecord } from "../store/index.ts";
import { parseTag } from "./reference.ts";
import type { Templates } from "./templates.ts";

export interface TagHistoryDeps {
  readonly templates: Pick<Templates, "findOwn">;
  readonly store: { readonly templates: Pick<Store["templates"], "listAssignments"> };
}

/** A tag with every build that it has pointed to. */
export interface TagGroup {
  readonly tag: string;
  /** Newest first. */
  readonly assignments: readonly TagAssignment[];
}

export interface TagGroupQuery {
  /** Part of the tag, in upper or lower case; every tag by default. */
  readonly search?: string | undefined;
  /** `latest`: by the newest assignment. Tags with equal times are ordered by name. */
  readonly sort: keyof typeof ORDERS;
}

/** Which builds the tags of a team's own templates have pointed to. Throws `not_found`, `permission_denied` as `Templates.findOwn` does. */
export class TagHistory {
  private readonly deps: TagHistoryDeps;

  constructor(deps: TagHistoryDeps) {
    this.deps = deps;
  }

  /** The tags of a template that match `query`, in its order. */
  async groups(teamId: TeamId, template: string, query: TagGroupQuery): Promise<{ record: TemplateRecord; groups: TagGroup[] }> {
    const { record } = this.deps.templates.findOwn(teamId, template);
    const byTag = Map.groupBy(await this.deps.store.templates.listAssignments(record.id), ({ tag }) => tag);
    const search = query.search?.trim().toLowerCase() ?? "";
    const groups = [...byTag].map(([tag, assignments]): TagGroup => ({ tag, assignments })).filter(({ tag }) => tag.includes(search));
    return { record, groups: groups.sort(ORDERS[query.sort]) };
  }

  /** The assignments of one tag, newest first. Throws `not_found`, reason `tag_not_found`, for a tag without any. */
  async assignments(teamId: TeamId, template: string, tag: string): Promise<{ record: TemplateRecord; assignments: TagAssignment[] }> {
    const { record } = this.deps.templates.findOwn(teamId, template);
    const wanted = parseTag(tag, "tag");
    const assignments = (await this.deps.store.templates.listAssignments(record.id)).filter((one) => one.tag === wanted);
    if (assignments.length > 0) return { record, assignments };
    throw new AppError("not_found", `tag '${wanted}' does not exist for template '${record.name ?? record.id}'`, {
      reason: "tag_not_found",
    });
  }
}

const byName = (a: TagGroup, b: TagGroup) => (a.tag < b.tag ? -1 : 1);
const latest = ({ assignments }: TagGroup) => assignments[0]?.assignedAt ?? 0;
const ORDERS = {
  latest_desc: (a: TagGroup, b: TagGroup) => latest(b) - latest(a) || byName(a, b),
  latest_asc: (a: TagGroup, b: TagGroup) => latest(a) - latest(b) || byName(a, b),
  name_asc: byName,
  name_desc: (a: TagGroup, b: TagGroup) => byName(b, a),
};
