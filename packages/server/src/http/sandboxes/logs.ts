import { parseSandboxId } from "@boxyard/core";
import type { routes, SandboxLogEntry } from "@boxyard/spec/platform";
import type { SandboxLogLine } from "../../store/index.ts";
import { json } from "../responses.ts";
import type { HandlerOf } from "./services.ts";

export const getSandboxLogs: HandlerOf<typeof routes.getSandboxLogs> = async ({ query, caller, param }, { observations }) => {
  const id = parseSandboxId(param("sandboxID"));
  const { start: cursor = 0, limit } = query;
  const lines = await observations.logsOf(caller.teamId, id, { cursor, limit, direction: "forward", minLevel: "debug" });
  return json(200, {
    // Clients read these texts as JSON objects with level and logger.
    logs: lines.map((line) => ({ timestamp: new Date(line.at).toISOString(), line: JSON.stringify(lineOf(line)) })),
    logEntries: lines.map(entryOf),
  });
};

export const getSandboxLogsV2: HandlerOf<typeof routes.getSandboxLogsV2> = async ({ query, caller, param }, { observations }) => {
  const id = parseSandboxId(param("sandboxID"));
  const { cursor, limit, direction, level: minLevel = "debug", search } = query;
  const lines = await observations.logsOf(caller.teamId, id, {
    limit,
    direction,
    minLevel,
    ...(cursor === undefined ? {} : { cursor }),
    ...(search === undefined ? {} : { search }),
  });
  return json(200, { logs: lines.map(entryOf) });
};

function entryOf({ at, level, message, fields }: SandboxLogLine): SandboxLogEntry {
  return { timestamp: new Date(at).toISOString(), message, level, fields: { logger: LOGGER, ...fields } };
}

/** The `logger` of lines that are the server's word; those of the agent inside have `guest`. The output of programs is not collected. */
const LOGGER = "boxyard";

function lineOf({ at, level, message, fields }: SandboxLogLine): Record<string, string> {
  return { logger: LOGGER, ...fields, timestamp: new Date(at).toISOString(), level, message };
}
