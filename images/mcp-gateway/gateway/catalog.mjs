// What the members of a configuration mean: the programs of MCP servers.
import { join } from "node:path";

const MODULES = join(import.meta.dirname, "../node_modules/@modelcontextprotocol");
const HOME = "/home/user";
const REPOSITORIES = join(HOME, ".mcp-servers");
const IN_A_REPOSITORY = /^github\/([\w-][\w.-]*)\/([\w-][\w.-]*)$/;

const npmServer = (name, ...args) => ({ command: [process.execPath, join(MODULES, name, "dist/index.js"), ...args], cwd: HOME, env: {} });

/** The servers that the template has, by the names that clients use. */
const HAD = {
  filesystem: ({ paths }) => npmServer("server-filesystem", ...listOfTexts("filesystem: paths", paths)),
  memory: () => ({ ...npmServer("server-memory"), env: { MEMORY_FILE_PATH: join(HOME, ".mcp-memory.jsonl") } }),
  sequentialthinking: () => npmServer("server-sequential-thinking"),
};

/**
 * The servers of a configuration, in its order: `{name, command, cwd, env}`, and for a repository `repository` with its address and `install`, a command. Throws an
 * error for people.
 */
export function serversOf(config) {
  if (!isObject(config)) throw new Error("--config: must be a JSON object of MCP servers");
  return Object.entries(config).map(([name, settings]) => {
    if (!isObject(settings)) throw new Error(`${name}: must be an object`);
    return { name, ...(settings.runCmd === undefined ? known(name, settings) : own(name, settings)) };
  });
}

/** Throws an error for people when the template lacks one of these servers. */
export function checkKnown(names) {
  for (const name of names) if (!Object.hasOwn(HAD, name)) throw unknown(name);
}

function known(name, settings) {
  checkKnown([name]);
  return HAD[name](settings);
}

/** A server that the caller starts with a command of its own. */
function own(name, { runCmd, installCmd, envs = {} }) {
  if (typeof runCmd !== "string" || runCmd === "") throw new Error(`${name}: runCmd must be a command`);
  if (installCmd !== undefined && typeof installCmd !== "string") throw new Error(`${name}: installCmd must be a command`);
  if (!isObject(envs) || Object.values(envs).some((value) => typeof value !== "string"))
    throw new Error(`${name}: envs must have texts as values`);
  const found = IN_A_REPOSITORY.exec(name);
  if (!found && name.startsWith("github/")) throw new Error(`${name}: must be github/OWNER/REPOSITORY`);
  const [, owner, repository] = found ?? [];
  const cwd = found ? join(REPOSITORIES, owner, repository) : HOME;
  return {
    command: ["bash", "-lc", runCmd],
    cwd,
    env: envs,
    install: installCmd,
    repository: found ? `https://github.com/${owner}/${repository}` : undefined,
  };
}

function unknown(name) {
  const names = Object.keys(HAD).join(", ");
  return new Error(
    `this template has no MCP server '${name.slice(0, 100)}'; it has ${names}, and runs any other by the command in its 'runCmd'`,
  );
}

function listOfTexts(what, value) {
  if (!Array.isArray(value) || value.length === 0 || value.some((one) => typeof one !== "string"))
    throw new Error(`${what} must be a list of directories`);
  return value;
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
