import { parseSandboxId, type SandboxId, type TeamId } from "@boxyard/core";
import type { routes, SandboxLogEntry } from "@boxyard/spec/platform";
import type { ServerContext } from "../../context.ts";
import { sandboxNotFound } from "../../sandboxes/problems.ts";
import type { SandboxLogLine } from "../../store/index.ts";
import type { HandlerOf } from "../route.ts";
import { json } from "./present.ts";

export const getSandboxLogs: HandlerOf<typeof routes.getSandboxLogs> = async ({ query, caller, param }, context) => {
  const id = await known(caller.teamId, parseSandboxId(param("sandboxID")), context);
  const { start: cursor = 0, limit } = query;
  const lines = await context.sandboxLogs.read(id, { cursor, limit, direction: "forward", minLevel: "debug" });
  return json(200, {
    // Clients read these texts as JSON objects with level and logger.
    logs: lines.map((line) => ({ timestamp: new Date(line.at).toISOString(), line: JSON.stringify(lineOf(line)) })),
    logEntries: lines.map(entryOf),
  });
};

export const getSandboxLogsV2: HandlerOf<typeof routes.getSandboxLogsV2> = async ({ query, caller, param }, context) => {
  const id = await known(caller.teamId, parseSandboxId(param("sandboxID")), context);
  const { cursor, limit, direction, level: minLevel = "debug", search } = query;
  const lines = await context.sandboxLogs.read(id, {
    limit,
    direction,
    minLevel,
    ...(cursor === undefined ? {} : { cursor }),
    ...(search === undefined ? {} : { search }),
  });
  return json(200, { logs: lines.map(entryOf) });
};

/** A sandbox of the team, also one that has ended. Throws `not_found`. */
async function known(teamId: TeamId, id: SandboxId, { lifecycle, store }: ServerContext): Promise<SandboxId> {
  const record = lifecycle.find(id)?.record ?? (await store.getSandbox(id));
  if (record?.teamId !== teamId) throw sandboxNotFound(id);
  return id;
}

function entryOf({ at, level, message, fields }: SandboxLogLine): SandboxLogEntry {
  return { timestamp: new Date(at).toISOString(), message, level, fields: { logger: LOGGER, ...fields } };
}

/** Who says it: what programs inside write is not collected. */
const LOGGER = "boxyard";

function lineOf({ at, level, message, fields }: SandboxLogLine): Record<string, string> {
  return { ...fields, timestamp: new Date(at).toISOString(), level, logger: LOGGER, message };
}
