import type { EntryInfo } from "@boxyard/spec/agent";
import type { RpcCall } from "../../contracts.ts";

/** The first Python client, which fails on members that it does not know. It names itself so, and no later one does. */
const USER_AGENT = "connect-python";
const NO_METADATA: EntryInfo["metadata"] = Object.freeze({});

/** How entries are told to the client of this call: whole, or to the oldest one with name, type and path alone (docs/contract/agent.md, Oldest client). */
export function entryFor(call: RpcCall): (entry: EntryInfo) => EntryInfo {
  if (call.header("User-Agent") !== USER_AGENT) return (entry) => entry;
  call.setHeader("X-E2B-Legacy-SDK", "true");
  // What is at its default is not sent.
  const rest = { size: 0, mode: 0, permissions: "", owner: "", group: "", metadata: NO_METADATA, isSymlink: false };
  return ({ name, type, path }) => ({ name, type, path, ...rest });
}
