import { parseSandboxId } from "@boxyard/core";
import type { routes } from "@boxyard/spec/platform";
import type { ListedSnapshot } from "../../sandboxes/ports.ts";
import { pageQuery, tokenOf } from "../page-token.ts";
import { json } from "../responses.ts";
import type { HandlerOf } from "./services.ts";

/** Answers once a crash of the machine would no longer lose the snapshot. */
export const createSnapshot: HandlerOf<typeof routes.createSnapshot> = async ({ body, caller, param }, { snapshots }) => {
  const { name, memory } = body;
  return json(201, present(await snapshots.create(caller.teamId, parseSandboxId(param("sandboxID")), { name, memory })));
};

/** `GET /snapshots`: newest first, in pages. A token means a position in the list, so pages stay right while snapshots are deleted. */
export const listSnapshots: HandlerOf<typeof routes.listSnapshots> = ({ query, caller }, { snapshots }) => {
  const { sandboxID: sandboxId, name, limit, nextToken } = query;
  const page = snapshots.list(caller.teamId, { sandboxId, name, ...pageQuery(nextToken, { limit, field: "nextToken" }) });
  return json(200, page.items.map(present), page.next && { "X-Next-Token": tokenOf(page.next) });
};

const present = ({ id, names }: ListedSnapshot) => ({ snapshotID: id, names: [...names] });
