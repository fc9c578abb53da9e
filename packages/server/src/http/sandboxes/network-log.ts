import { parseSandboxId } from "@boxyard/core";
import type { NetworkLogEntry, routes } from "@boxyard/spec/platform";
import type { NetworkEntry } from "../../network-log/entries.ts";
import { json } from "../responses.ts";
import type { HandlerOf } from "./services.ts";

export const getNetworkLog: HandlerOf<typeof routes.getNetworkLog> = ({ caller, param, query }, { networkLog }) => {
  const entries = networkLog.read(caller.teamId, parseSandboxId(param("sandboxID")), query);
  const cursor = entries.at(-1)?.cursor ?? query.cursor;
  return json(200, { entries: entries.map(present), ...(cursor !== undefined && { cursor }) });
};

export const suggestNetwork: HandlerOf<typeof routes.suggestNetwork> = ({ caller, param }, { networkLog }) =>
  json(200, networkLog.suggest(caller.teamId, parseSandboxId(param("sandboxID"))));

const present = ({ at, answers, ...entry }: NetworkEntry): NetworkLogEntry => ({
  ...entry,
  timestamp: new Date(at).toISOString(),
  ...(answers && { answers: [...answers] }),
});
