import { z } from "zod";
import { ToolError } from "../errors.ts";
import { STATE_REQUEST_MS } from "../session/session.ts";
import { portUrls } from "./port-urls.ts";
import { sandboxTool } from "./tool.ts";

const requestTimeoutMs = STATE_REQUEST_MS;

const expose = sandboxTool({
  name: "expose",
  description: "URLs of a port of the sandbox, for the user and other programs.",
  input: { port: z.int().min(1).max(65_535) },
  readOnly: true,
  async run({ port }, { sandbox }, { session }) {
    const { publicUrl } = await session.connection();
    const urls = portUrls(sandbox, port, publicUrl);
    const token = sandbox.trafficAccessToken;
    const header = token === undefined ? [] : [`Requests need the header e2b-traffic-access-token: ${token}`];
    return [...urls, ...header, "They answer 502 until a program listens on the port."].join("\n");
  },
});

const snapshot = sandboxTool({
  name: "snapshot",
  description: "Keep the state, memory included, to `rollback` to or `create` from. Without a name it ends with this session.",
  input: { name: z.string().optional() },
  async run({ name }, { sandbox }, { session }) {
    const { snapshotId, names } = await session.snapshots.create(sandbox, name, requestTimeoutMs);
    return `Snapshot ${snapshotId}${names.length > 0 ? ` (${names.join(", ")})` : ""} of ${sandbox.sandboxId}.`;
  },
});

const fork = sandboxTool({
  name: "fork",
  description: "Make running copies, memory and processes included.",
  input: { count: z.int().min(1).max(16).default(1) },
  async run({ count }, member, { session }) {
    const results = await session.fork(member, count);
    const made = results.flatMap(({ sandbox }) => (sandbox ? [sandbox.sandboxId] : []));
    const failed = results.find(({ error }) => error)?.error;
    if (made.length === 0 && failed) throw failed;
    const note = failed ? [`${results.length - made.length} of ${results.length} could not be made: ${failed.message}`] : [];
    return [`Copies of ${member.sandbox.sandboxId}: ${made.join(", ")}`, ...note].join("\n");
  },
});

const rollback = sandboxTool({
  name: "rollback",
  description: "Reset the sandbox's disk and processes to one of its snapshots.",
  input: { snapshot: z.string() },
  async run({ snapshot: id }, { sandbox }, { session }) {
    // A 404 of the rollback would not say which of the two is missing.
    if (!(await session.snapshots.exists(id)))
      throw new ToolError(`There is no snapshot ${id}.`, "`snapshot` makes one and returns its id.");
    const { volumes } = await sandbox.rollback(id, { requestTimeoutMs });
    // The pids may be those of other processes now.
    session.commands.forget(sandbox.sandboxId);
    const kept = volumes.map(({ path }) => ` ${path} is a volume, and was not set back.`);
    return `Sandbox ${sandbox.sandboxId} is as in ${id}.${kept.join("")}`;
  },
});

const pause = sandboxTool({
  name: "pause",
  description: "Store the sandbox on disk, with its processes. The next tool that uses it resumes it.",
  input: {},
  async run(_args, member) {
    await member.sandbox.pause({ requestTimeoutMs });
    member.paused = true;
    return `Sandbox ${member.sandbox.sandboxId} is paused.`;
  },
});

export const stateTools = [expose, snapshot, fork, rollback, pause];
