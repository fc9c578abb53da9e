import { AppError, parseSandboxId } from "@boxyard/core";
import type { routes } from "@boxyard/spec/platform";
import type { ListedSnapshot, SnapshotPosition } from "../../templates/snapshots/snapshot-catalog.ts";
import { json } from "../responses.ts";
import type { HandlerOf } from "./services.ts";

/** Answers once a crash of the machine would no longer lose the snapshot. */
export const createSnapshot: HandlerOf<typeof routes.createSnapshot> = async ({ body, caller, param }, { snapshots }) => {
  const { name, memory } = body;
  return json(201, present(await snapshots.create(caller.teamId, parseSandboxId(param("sandboxID")), { name, memory })));
};

/** `GET /snapshots`: newest first, in pages. A cursor is a position in the list, so pages stay right while snapshots are deleted. */
export const listSnapshots: HandlerOf<typeof routes.listSnapshots> = ({ query, caller }, { snapshots }) => {
  const { sandboxID: sandboxId, name, limit, nextToken } = query;
  const page = snapshots.list(caller.teamId, { sandboxId, name, limit, after: parseCursor(nextToken) });
  return json(200, page.snapshots.map(present), page.next && { "X-Next-Token": cursorOf(page.next) });
};

const present = ({ id, names }: ListedSnapshot) => ({ snapshotID: id, names: [...names] });

const cursorOf = ({ createdAt, buildId }: SnapshotPosition) => Buffer.from(`${createdAt}__${buildId}`).toString("base64url");

function parseCursor(text: string | undefined): SnapshotPosition | undefined {
  if (!text) return undefined;
  const [, createdAt, buildId] = /^(\d{1,15})__([0-9a-f-]{36})$/.exec(Buffer.from(text, "base64url").toString()) ?? [];
  if (buildId === undefined) throw new AppError("invalid_argument", "nextToken: is not one of this listing", { reason: "invalid_query" });
  return { createdAt: Number(createdAt), buildId };
}
