import { Sandbox } from "@boxyard/sdk";
import { z } from "zod";
import { ToolError } from "../errors.ts";
import { MARK, type Member } from "../session/session.ts";
import { tool } from "./tool.ts";

/** Sandboxes of others in one list. */
const MAX_OTHERS = 20;

const create = tool({
  name: "create",
  description: "Start a sandbox: a Linux machine of its own. It ends with this session; with keep it is paused then, until `remove`.",
  input: {
    from: z.string().optional().describe("template or snapshot; default base"),
    keep: z.boolean().optional(),
    env: z.record(z.string(), z.string()).optional(),
    internet: z.boolean().optional().describe("default true"),
  },
  async run(options, { session }) {
    const { sandboxId } = await session.create(options);
    return `Sandbox ${sandboxId} runs.`;
  },
});

const list = tool({
  name: "list",
  description: "List this session's sandboxes, and kept ones that `use` can add.",
  input: {},
  readOnly: true,
  async run(_args, { session }) {
    const own = session.all();
    const options = await session.connection();
    const kept = await Sandbox.list({ ...options, metadata: { [MARK]: "kept" }, limit: MAX_OTHERS + own.length }).nextItems();
    const others = kept.filter(({ sandboxId }) => !own.some((member) => member.sandbox.sandboxId === sandboxId)).slice(0, MAX_OTHERS);
    const lines = [
      ...own.map(describe),
      ...others.map(
        ({ sandboxId, state, name, templateId }) => `${sandboxId} ${state}, kept, from ${name ?? templateId}; not in this session`,
      ),
    ];
    return lines.length === 0 ? "No sandboxes. `create` makes one." : lines.join("\n");
  },
});

const describe = ({ sandbox, paused, ownership }: Member): string =>
  `${sandbox.sandboxId} ${paused ? "paused" : "running"}${ownership === "own" ? "" : `, ${ownership}`}`;

const use = tool({
  name: "use",
  description: "Add a kept sandbox, or one that the user names, to this session, which does not end it.",
  input: { sandbox: z.string() },
  async run({ sandbox: id }, { session }) {
    await session.use(id);
    return `Sandbox ${id} is in this session.`;
  },
});

const remove = tool({
  name: "remove",
  description: "End a sandbox with its files, or delete a snapshot.",
  input: { id: z.string() },
  async run({ id }, { session }) {
    if ((await session.remove(id)) || (await session.snapshots.remove(id))) return `Removed ${id}.`;
    throw new ToolError(`This session has no sandbox ${id}, and there is no such snapshot.`, "`list` shows its sandboxes.");
  },
});

export const sandboxTools = [create, list, use, remove];
