import { AppError, type TeamId } from "@boxyard/core";
import { byId, newestFirst, oldestFirst, type Page, type PageQuery, type Position, pageIn, reversed } from "../page.ts";
import type { Store, TagAssignment, TemplateRecord, TemplateVersion } from "../store/index.ts";
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

export interface TagGroupQuery extends PageQuery {
  /** Part of the tag, in upper or lower case; every tag by default. */
  readonly search?: string | undefined;
  /** `latest`: by the newest assignment. Tags with equal times are ordered by name. */
  readonly sort: keyof typeof ORDERS;
}

export interface TagAssignmentQuery extends PageQuery {
  readonly tag: string;
}

/** Which builds the tags of a team's own templates point to, and have pointed to. Throws `not_found`, `permission_denied` as `Templates.findOwn` does. */
export class TagHistory {
  private readonly deps: TagHistoryDeps;

  constructor(deps: TagHistoryDeps) {
    this.deps = deps;
  }

  /** The tags that can be started from, the newest assignment first. */
  current(teamId: TeamId, template: string): TemplateVersion[] {
    const { versions } = this.deps.templates.findOwn(teamId, template);
    const positionOf = ({ tag, assignedAt }: TemplateVersion): Position => ({ at: assignedAt, id: tag });
    return [...versions].sort((a, b) => newestFirst(positionOf(a), positionOf(b)));
  }

  /** A tag as it is kept, and whether it is one of `current`. Throws `invalid_argument` for a text that is not a tag. */
  lookUp(teamId: TeamId, template: string, text: string): { tag: string; exists: boolean } {
    const { versions } = this.deps.templates.findOwn(teamId, template);
    const tag = parseTag(text, "tag");
    return { tag, exists: versions.some((version) => version.tag === tag) };
  }

  /** A page of the tags of a template that match `query`, in its order. */
  async groups(teamId: TeamId, template: string, query: TagGroupQuery): Promise<{ record: TemplateRecord; groups: Page<TagGroup> }> {
    const { record } = this.deps.templates.findOwn(teamId, template);
    const byTag = Map.groupBy(await this.deps.store.templates.listAssignments(record.id), ({ tag }) => tag);
    const search = query.search?.trim().toLowerCase() ?? "";
    const groups = [...byTag].map(([tag, assignments]): TagGroup => ({ tag, assignments })).filter(({ tag }) => tag.includes(search));
    return { record, groups: pageIn(groups, ORDERS[query.sort], positionOfGroup, query) };
  }

  /** A page of the assignments of one tag, newest first. Throws `not_found`, reason `tag_not_found`, for a tag without any. */
  async assignments(
    teamId: TeamId,
    template: string,
    { tag, ...query }: TagAssignmentQuery,
  ): Promise<{ record: TemplateRecord; assignments: Page<TagAssignment> }> {
    const { record } = this.deps.templates.findOwn(teamId, template);
    const wanted = parseTag(tag, "tag");
    const assignments = (await this.deps.store.templates.listAssignments(record.id)).filter((one) => one.tag === wanted);
    if (assignments.length > 0) return { record, assignments: pageIn(assignments, newestFirst, positionOfAssignment, query) };
    throw new AppError("not_found", `tag '${wanted}' does not exist for template '${record.name ?? record.id}'`, {
      reason: "tag_not_found",
    });
  }
}

/** The time is that of the newest assignment. */
const positionOfGroup = ({ tag, assignments }: TagGroup): Position => ({ at: assignments[0]?.assignedAt ?? 0, id: tag });
const positionOfAssignment = ({ assignedAt, buildId }: TagAssignment): Position => ({ at: assignedAt, id: buildId });
const ORDERS = { latest_desc: newestFirst, latest_asc: oldestFirst, name_asc: byId, name_desc: reversed(byId) };
