#!/usr/bin/env node
// `mcp-gateway`: clients run it in a new sandbox, as root. It ends when the gateway serves, and the gateway goes on.
import { spawn } from "node:child_process";
import { mkdirSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { checkKnown, serversOf } from "./catalog.mjs";

const USAGE = "usage: mcp-gateway --config JSON   (with GATEWAY_ACCESS_TOKEN in the environment)\n       mcp-gateway pull SERVER...";
const DIRECTORY = "/etc/mcp-gateway";
const LOG = "/var/log/mcp-gateway.log";

try {
  await main();
} catch (error) {
  console.error(`mcp-gateway: ${error.message}`);
  process.exitCode = 1;
}

async function main() {
  const { values, positionals } = parseArgs({ options: { config: { type: "string" } }, allowPositionals: true });
  const [command, ...names] = positionals;
  // The template has them already.
  if (command === "pull" && names.length > 0) return checkKnown(names);
  if (command !== undefined || values.config === undefined) throw new Error(`\n${USAGE}`);
  const { GATEWAY_ACCESS_TOKEN: token } = process.env;
  if (!token) throw new Error("GATEWAY_ACCESS_TOKEN is not set");
  if (process.getuid() !== 0) throw new Error("must be run as root");
  const config = parsed(values.config);
  serversOf(config);
  await start(config, token);
  mkdirSync(DIRECTORY, { recursive: true, mode: 0o700 });
  writeFileSync(join(DIRECTORY, ".token"), token, { mode: 0o600 });
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error("--config: must be JSON");
  }
}

/** Starts the gateway's process and waits until it serves. The configuration can hold secrets: no argument shows it. */
async function start(config, token) {
  const log = openSync(LOG, "a", 0o600);
  const { GATEWAY_ACCESS_TOKEN: _, ...env } = process.env;
  const gateway = spawn(process.execPath, [join(import.meta.dirname, "serve.mjs")], {
    cwd: "/",
    detached: true,
    env,
    stdio: ["ignore", log, log, "ipc"],
  });
  gateway.send({ config, token });
  const { failure } = await new Promise((resolve) => {
    gateway.once("message", resolve);
    gateway.once("exit", () => resolve({ failure: `the gateway has ended; ${LOG} says why` }));
  });
  if (failure !== undefined) throw new Error(failure);
  gateway.unref();
}
