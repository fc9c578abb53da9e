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
  const made = await services.snapshots.create(caller.teamId, parseSandboxId(param("sandboxID")), { name, memory });
  return json(201, present(made, services, await services.snapshots.sizesOf([made])));
};

/** `GET /snapshots`: newest first, in pages. A token means a position in the list, so pages stay right while snapshots are deleted. */
export const listSnapshots: HandlerOf<typeof routes.listSnapshots> = async ({ query, caller }, services) => {
  const { sandboxID: sandboxId, name, limit, nextToken } = query;
  const page = services.snapshots.list(caller.teamId, { sandboxId, name, ...pageQuery(nextToken, { limit, field: "nextToken" }) });
  const sizes = await services.snapshots.sizesOf(page.items);
  return json(
    200,
    page.items.map((snapshot) => present(snapshot, services, sizes)),
    page.next && { "X-Next-Token": tokenOf(page.next) },
  );
};

/** `sizes`: bytes by the id of the checkpoint. */
function present(
  { id, names, sandboxId, buildId, checkpointId, createdAt, volumes }: ListedSnapshot,
  { observations }: Pick<SandboxServices, "observations">,
  sizes: ReadonlyMap<string, number>,
) {
  const deleteAt = observations.deletionOf("snapshots", buildId);
  const sizeBytes = sizes.get(checkpointId);
  return {
    snapshotID: id,
    names: [...names],
    sandboxID: sandboxId,
    createdAt: new Date(createdAt).toISOString(),
    ...(sizeBytes !== undefined && { sizeBytes }),
    ...(deleteAt !== undefined && { deleteAt: new Date(deleteAt).toISOString() }),
    ...presentVolumes(volumes),
  };
}
