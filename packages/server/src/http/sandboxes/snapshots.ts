import { parseSandboxId } from "@boxyard/core";
import type { routes } from "@boxyard/spec/platform";
import type { ListedSnapshot } from "../../sandboxes/ports.ts";
import { pageQuery, tokenOf } from "../page-token.ts";
import { json } from "../responses.ts";
import { presentVolumes } from "./present.ts";
import type { HandlerOf, SandboxServices } from "./services.ts";

/** Answers once a crash of the machine would no longer lose the snapshot. */
export const createSnapshot: HandlerOf<typeof routes.createSnapshot> = async ({ body, caller, param }, services) => {
  const { name, memory } = body;
  return json(201, present(await services.snapshots.create(caller.teamId, parseSandboxId(param("sandboxID")), { name, memory }), services));
};

/** `GET /snapshots`: newest first, in pages. A token means a position in the list, so pages stay right while snapshots are deleted. */
export const listSnapshots: HandlerOf<typeof routes.listSnapshots> = ({ query, caller }, services) => {
  const { sandboxID: sandboxId, name, limit, nextToken } = query;
  const page = services.snapshots.list(caller.teamId, { sandboxId, name, ...pageQuery(nextToken, { limit, field: "nextToken" }) });
  return json(
    200,
    page.items.map((snapshot) => present(snapshot, services)),
    page.next && { "X-Next-Token": tokenOf(page.next) },
  );
};

function present({ id, names, buildId, volumes }: ListedSnapshot, { observations }: Pick<SandboxServices, "observations">) {
  const deleteAt = observations.deletionOf("snapshots", buildId);
  const date = deleteAt === undefined ? {} : { deleteAt: new Date(deleteAt).toISOString() };
  return { snapshotID: id, names: [...names], ...date, ...presentVolumes(volumes) };
}
