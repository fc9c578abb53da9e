// The MCP servers behind the gateway, as one.
import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { getDefaultEnvironment, StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";

/** Clients give the command a minute. */
const START_MS = 30_000;
const INSTALL_MS = 600_000;
const CALL_MS = 600_000;
const MAX_PAGES = 100;
const MAX_OUTPUT = 4 * 1024 * 1024;
/** Everything that the caller brings runs as the sandbox's user. */
const AS_USER = ["--reuid=user", "--regid=user", "--init-groups", "--"];

const environment = (env) => ({ ...getDefaultEnvironment(), HOME: "/home/user", USER: "user", LOGNAME: "user", ...env });

/** One server: its process is started again by the next call after it has ended. */
class BehindGateway {
  #description;
  #client;

  constructor(description) {
    this.#description = description;
  }

  get name() {
    return this.#description.name;
  }

  /** Gets what the server is made of, and starts it. Throws an error for people. */
  async open() {
    const { repository, install, cwd, env } = this.#description;
    try {
      if (repository !== undefined) await clone(repository, cwd);
      if (install !== undefined) await asUser(["bash", "-lc", install], cwd, env);
      await this.#connected();
    } catch (error) {
      throw new Error(
        `the MCP server '${this.name}' did not start: ${error.stderr || error.message}; /var/log/mcp-gateway.log has its output`,
      );
    }
  }

  async tools() {
    const client = await this.#connected();
    const tools = [];
    let cursor;
    for (let page = 0; page < MAX_PAGES; page++) {
      const answer = await client.listTools(cursor === undefined ? {} : { cursor });
      tools.push(...answer.tools);
      cursor = answer.nextCursor;
      if (cursor === undefined) break;
    }
    return tools;
  }

  async call(name, args, signal) {
    const client = await this.#connected();
    return client.request({ method: "tools/call", params: { name, arguments: args } }, CallToolResultSchema, { signal, timeout: CALL_MS });
  }

  #connected() {
    this.#client ??= this.#connect().catch((error) => {
      this.#client = undefined;
      throw error;
    });
    return this.#client;
  }

  async #connect() {
    const { command, cwd, env } = this.#description;
    const client = new Client({ name: "mcp-gateway", version: "1" });
    client.onclose = () => {
      this.#client = undefined;
    };
    const transport = new StdioClientTransport({
      command: "setpriv",
      args: [...AS_USER, ...command],
      cwd,
      env: environment(env),
      stderr: "inherit",
    });
    await client.connect(transport, { timeout: START_MS });
    return client;
  }
}

/** All servers, with the tools of all. */
export class Servers {
  #servers;
  #tools = new Map();

  constructor(descriptions) {
    this.#servers = descriptions.map((description) => new BehindGateway(description));
  }

  /** Throws an error for people when one does not start. */
  async open() {
    await Promise.all(this.#servers.map((server) => server.open()));
    await this.tools();
  }

  /** The tools of all. A name that an earlier server has too gets the name of its own server before it. */
  async tools() {
    const lists = await Promise.all(this.#servers.map(async (server) => ({ server, tools: await server.tools() })));
    const found = new Map();
    for (const { server, tools } of lists) {
      for (const tool of tools) {
        const name = found.has(tool.name) ? `${server.name.replace(/[^\w-]/g, "_")}_${tool.name}` : tool.name;
        if (!found.has(name)) found.set(name, { server, called: tool.name, tool: { ...tool, name } });
      }
    }
    this.#tools = found;
    return [...found.values()].map(({ tool }) => tool);
  }

  /** Throws for a tool that no server has. */
  async call(name, args, signal) {
    if (!this.#tools.has(name)) await this.tools();
    const found = this.#tools.get(name);
    if (!found) throw new Error(`there is no tool '${name.slice(0, 100)}'`);
    return found.server.call(found.called, args, signal);
  }
}

async function clone(repository, directory) {
  await asUser(["mkdir", "-p", dirname(directory)], "/home/user", {});
  await rm(directory, { recursive: true, force: true });
  await asUser(["git", "clone", "--quiet", "--depth=1", repository, directory], "/home/user", { GIT_TERMINAL_PROMPT: "0" });
}

async function asUser(command, cwd, env) {
  await promisify(execFile)("setpriv", [...AS_USER, ...command], {
    cwd,
    env: environment(env),
    timeout: INSTALL_MS,
    maxBuffer: MAX_OUTPUT,
  });
}
