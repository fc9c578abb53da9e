import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";

/** Directory of the files that builds copy. */
export const CONTEXT = fileURLToPath(new URL("../../templates/context", import.meta.url));

/** Calls the platform API for what the client has no method for. */
export const api = (method, path) => fetch(process.env.E2B_API_URL + path, { method, headers: { "X-API-Key": process.env.E2B_API_KEY } });

/** Gives `use` a name of its own, and deletes the template of that name afterwards. */
export async function withName(use) {
  const name = `e2e-${randomBytes(6).toString("hex")}`;
  try {
    return await use(name);
  } finally {
    await api("DELETE", `/templates/${name}`);
  }
}

/** Builds, and gives the build's facts with its log. */
export async function build({ Template }, template, name, options = {}) {
  const log = [];
  const startedAt = Date.now();
  const info = await Template.build(template, name, { ...options, onBuildLogs: (entry) => log.push(entry.message) });
  return { ...info, log, ms: Date.now() - startedAt };
}

/** Runs a command in a sandbox of a template, and gives what it prints. */
export async function inside({ Sandbox }, name, command, options = {}) {
  const sandbox = await Sandbox.create(name, { timeoutMs: 60_000 });
  try {
    return (await sandbox.commands.run(command, options)).stdout;
  } finally {
    await sandbox.kill();
  }
}
