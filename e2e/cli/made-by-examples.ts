import type { Platform } from "@boxyard/testkit";
import { boxyard } from "./support.ts";

/** What the examples of the help texts make under names of their own, and the call that removes it. */
const REMOVE: readonly (readonly string[])[] = [
  ["volume", "delete", "results", "before-the-test", "restored"],
  ["recording", "delete", "page", "copy"],
  ["secret", "delete", "password", "home"],
  ["team", "delete", "research"],
  ["snapshot", "delete", "ready"],
  ["template", "delete", "--yes", "my-app", "web"],
  ["team", "limit", "default", "sandboxes=default", "createsPerMinute=default"],
  ["team", "retention", "default", "--off"],
];
const KEYS: readonly string[] = ["ci", "viewer"];
const LISTS = ["sandbox", "volume", "secret", "team", "snapshot", "template", "key", "recording"] as const;

async function listed(platform: Platform, kind: string): Promise<Readonly<Record<string, unknown>>[]> {
  const { exitCode, stdout, stderr } = await boxyard(platform, [kind, "list", "--json"]);
  if (exitCode !== 0) throw new Error(`${kind} list failed: ${stderr}`);
  return JSON.parse(stdout) as Readonly<Record<string, unknown>>[];
}

/** The ids of what the platform keeps, by kind, and what the operator's team may. */
export async function kept(platform: Platform): Promise<Readonly<Record<string, unknown>>> {
  const found: Record<string, unknown> = {};
  for (const kind of LISTS) {
    const all = await listed(platform, kind);
    found[kind] = all.map((one) => String(one.id ?? one[`${kind}Id`] ?? one.name)).sort();
    if (kind === "team")
      found.default = all.filter(({ slug }) => slug === "default").map(({ limits, retention }) => ({ limits, retention }));
  }
  return found;
}

/** Repeatable: what is not there is passed over, so who calls compares `kept` before and after. */
export async function removeMade(platform: Platform): Promise<void> {
  // First: a volume and a snapshot that a sandbox uses are not deleted.
  await boxyard(platform, ["rm", "--all"]);
  for (const args of REMOVE) await boxyard(platform, args);
  for (const { id, name } of await listed(platform, "key")) {
    if (KEYS.includes(String(name))) await boxyard(platform, ["key", "revoke", String(id)]);
  }
}
