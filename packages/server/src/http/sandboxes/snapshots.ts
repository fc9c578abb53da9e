import { AppError, parseSandboxId } from "@boxyard/core";
import type { routes } from "@boxyard/spec/platform";
import { byAge, type ListedSnapshot } from "../../templates/snapshots/snapshot-catalog.ts";
import { json } from "./present.ts";
import type { HandlerOf } from "./services.ts";

/** Answered when a crash of the machine would not lose the snapshot any more. */
export const createSnapshot: HandlerOf<typeof routes.createSnapshot> = async ({ body, caller, param }, { snapshots }) => {
  const { name, memory } = body;
  return json(201, present(await snapshots.create(caller.teamId, parseSandboxId(param("sandboxID")), { name, memory })));
};

/** `GET /snapshots`: newest first, in pages; a page's end is a place, so what is deleted meanwhile disturbs nothing. */
export const listSnapshots: HandlerOf<typeof routes.listSnapshots> = ({ query, caller }, { snapshots }) => {
  const { sandboxID: sandboxId, name, limit, nextToken } = query;
  const after = parseCursor(nextToken);
  const found = snapshots.list(caller.teamId, { sandboxId, name }).filter((one) => after === undefined || byAge(one, after) > 0);
  const page = found.slice(0, limit);
  const last = page.at(-1);
  const headers: Record<string, string> = last && found.length > page.length ? { "X-Next-Token": cursorOf(last) } : {};
  return json(200, page.map(present), headers);
};

const present = ({ id, names }: ListedSnapshot) => ({ snapshotID: id, names: [...names] });

type Cursor = Pick<ListedSnapshot, "createdAt" | "buildId">;

const cursorOf = ({ createdAt, buildId }: Cursor) => Buffer.from(`${createdAt}__${buildId}`).toString("base64url");

function parseCursor(text: string | undefined): Cursor | undefined {
  if (!text) return undefined;
  const [, createdAt, buildId] = /^(\d{1,15})__([0-9a-f-]{36})$/.exec(Buffer.from(text, "base64url").toString()) ?? [];
  if (buildId === undefined) throw new AppError("invalid_argument", "nextToken: is not one of this listing", { reason: "invalid_query" });
  return { createdAt: Number(createdAt), buildId };
}
