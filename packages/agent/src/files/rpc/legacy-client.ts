import type { EntryInfo } from "@boxyard/spec/agent";
import type { RpcCall } from "../../contracts.ts";

/** User agent of the first Python client, which fails on unknown members. No later client sends it. */
const USER_AGENT = "connect-python";
const NO_METADATA: EntryInfo["metadata"] = Object.freeze({});

/** Prepares entries for the client of this call: whole, or only name, type and path for the oldest client (docs/contract/agent.md, Oldest client). */
export function entryFor(call: RpcCall): (entry: EntryInfo) => EntryInfo {
  if (call.header("User-Agent") !== USER_AGENT) return (entry) => entry;
  call.setHeader("X-E2B-Legacy-SDK", "true");
  // Members with default values are not sent.
  const rest = { size: 0, mode: 0, permissions: "", owner: "", group: "", metadata: NO_METADATA, isSymlink: false };
  return ({ name, type, path }) => ({ name, type, path, ...rest });
}
