import type { ConnectionOptions } from "@boxyard/sdk";
import { ApiKeys } from "@boxyard/sdk/keys";
import { Sandboxes } from "@boxyard/sdk/sandboxes";
import { Secrets } from "@boxyard/sdk/secrets";
import { Teams } from "@boxyard/sdk/teams";
import { Template } from "@boxyard/sdk/template";
import { Volume } from "@boxyard/sdk/volumes";
import { Webhooks } from "@boxyard/sdk/webhooks";
import { isRemote, readApiKey } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { isAlive, readServerFile } from "../server-control/server-file.ts";
import type { Candidate, Kind } from "./candidates.ts";

/** Longest wait for a list after a press of Tab. */
const LIMIT_MS = 2000;
/** As many as one page holds; a longer list does not help to choose. */
const MOST = 100;

/** The ids or names of a kind that the server has. Empty when the server does not answer in time or fails: completion has no errors. Never starts or sets up anything. */
export async function lookUp(kind: Kind, context: CliContext): Promise<readonly Candidate[]> {
  try {
    const target = runningServer(context);
    return target ? await LISTS[kind]({ ...target, requestTimeoutMs: LIMIT_MS }) : [];
  } catch {
    return [];
  }
}

const LISTS: Readonly<Record<Kind, (target: ConnectionOptions) => Promise<readonly Candidate[]>>> = {
  sandbox: async (target) => {
    const page = await Sandboxes.list({ ...target, limit: MOST }).nextItems();
    return page.map(({ sandboxId, name, templateId, state }) => ({ word: sandboxId, summary: `${name ?? templateId}, ${state}` }));
  },
  template: async (target) => {
    const page = await Template.list(target).nextItems();
    return page.flatMap(({ names, templateId, buildStatus, filesMissing }) => {
      // A name is known with and without the namespace of its owner, who is asking.
      const words = names.flatMap((name) => [name.slice(name.indexOf("/") + 1), name]);
      return (words.length > 0 ? [...new Set(words)] : [templateId]).map((word) => ({
        word,
        summary: filesMissing ? "missing" : buildStatus,
      }));
    });
  },
  snapshot: async (target) => {
    const page = await Sandboxes.listSnapshots({ ...target, limit: MOST }).nextItems();
    return page.map(({ snapshotId, names }) => ({ word: snapshotId, summary: names.join(" ") }));
  },
  team: async (target) => (await Teams.list(target)).map(({ slug, name }) => ({ word: slug, summary: name })),
  volume: async (target) =>
    (await Volume.list(target)).slice(0, MOST).map(({ name, sizeMB }) => ({ word: name, summary: `${sizeMB} MiB` })),
  secret: async (target) => {
    const page = await Secrets.list({ ...target, limit: MOST }).nextItems();
    return page.map(({ name, version }) => ({ word: name, summary: `version ${version}` }));
  },
  webhook: async (target) => (await Webhooks.list(target)).map(({ id, name }) => ({ word: id, summary: name })),
  key: async (target) => (await ApiKeys.list(target)).map(({ id, name }) => ({ word: id, summary: name })),
};

function runningServer({ config }: CliContext): ConnectionOptions | undefined {
  if (isRemote(config)) return { apiUrl: config.apiUrl, apiKey: config.apiKey };
  const server = readServerFile(config.dataDir);
  if (!server || !isAlive(server)) return undefined;
  return { apiUrl: server.url, apiKey: config.apiKey ?? readApiKey(config.dataDir) };
}
