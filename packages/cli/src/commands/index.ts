import type { CommandModule } from "../command-module.ts";
import { COMPLETE } from "../completion/scripts.ts";
import { checkoutOnly } from "./checkout-only.ts";

export interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  /** For programs: help does not show it. */
  readonly hidden?: boolean;
  load(): Promise<CommandModule>;
}

/** Every command, in the order in which help shows them. Only the one that is used is loaded. */
export const COMMANDS: readonly CommandEntry[] = [
  { name: "run", summary: "Run a command in a new sandbox, then remove the sandbox", load: () => import("./run.ts") },
  { name: "shell", summary: "Open a terminal in a sandbox", load: () => import("./shell.ts") },
  { name: "exec", summary: "Run a command in a running sandbox", load: () => import("./exec.ts") },
  { name: "ps", summary: "List what runs in a sandbox", load: async () => (await import("./processes.ts")).ps },
  { name: "logs", summary: "Show what a command printed, or what happened to a sandbox", load: () => import("./logs.ts") },
  { name: "attach", summary: "Connect to a command that runs in a sandbox", load: async () => (await import("./processes.ts")).attach },
  { name: "kill", summary: "End commands in a sandbox", load: async () => (await import("./processes.ts")).kill },
  { name: "cp", summary: "Copy files and directories to and from a sandbox", load: () => import("./cp.ts") },
  { name: "port", summary: "Forward a local port to a port in a sandbox", load: () => import("./port.ts") },
  { name: "watch", summary: "Show changes in a directory of a sandbox", load: () => import("./watch.ts") },
  { name: "ls", summary: "List sandboxes", load: async () => (await import("./sandbox.ts")).ls },
  { name: "rm", summary: "End sandboxes", load: async () => (await import("./sandbox.ts")).rm },
  { name: "sandbox", summary: "Create, list, look at and end sandboxes", load: () => import("./sandbox.ts") },
  { name: "usage", summary: "Show what sandboxes have used, per day", load: () => import("./usage.ts") },
  { name: "snapshot", summary: "Create, list and delete snapshots of sandboxes", load: () => import("./snapshot.ts") },
  { name: "volume", summary: "Create, list and delete volumes, which outlive sandboxes", load: () => import("./volume.ts") },
  { name: "recording", summary: "List, show, export and import what sandboxes got by HTTP", load: () => import("./recording.ts") },
  { name: "template", summary: "Build, list and tag templates", load: () => import("./template.ts") },
  { name: "secret", summary: "Store, list and delete secrets", load: () => import("./secret.ts") },
  { name: "webhook", summary: "Send what happens to your own servers", load: () => import("./webhook.ts") },
  { name: "key", summary: "Create, list and revoke API keys", load: () => import("./key.ts") },
  { name: "team", summary: "Create, list, limit and delete teams", load: () => import("./team.ts") },
  { name: "up", summary: "Start the server on this machine", load: () => import("./up.ts") },
  { name: "down", summary: "Stop the server on this machine", load: () => import("./down.ts") },
  { name: "service", summary: "Run the server as a service of systemd", load: () => import("./service.ts") },
  { name: "env", summary: "Print the variables that clients need", load: () => import("./env.ts") },
  { name: "cert", summary: "Make a certificate for the server's own TLS", load: () => import("./cert.ts") },
  { name: "dashboard", summary: "Print a link that opens the dashboard in a browser", load: () => import("./dashboard.ts") },
  { name: "mcp", summary: "Offer sandboxes to an AI agent (Model Context Protocol)", load: () => import("./mcp.ts") },
  { name: "setup", summary: "Set this machine up (also done on first use)", load: () => import("./setup.ts") },
  { name: "uninstall", summary: "Remove everything from this machine", load: () => import("./uninstall.ts") },
  { name: "doctor", summary: "Say what this machine can do, and how to fix what it cannot", load: () => import("./doctor.ts") },
  { name: "completion", summary: "Print a completion script for bash, zsh or fish", load: () => import("./completion.ts") },
  { name: "test", summary: "Run the tests (in a checkout)", load: async () => checkoutOnly("test") },
  { name: "bench", summary: "Measure what SPECIFICATION.md promises (in a checkout)", load: async () => checkoutOnly("bench") },
  { name: "dist", summary: "Make one executable, and the package for npm (in a checkout)", load: async () => checkoutOnly("dist") },
  { name: COMPLETE, summary: "Print what can be typed at the cursor", hidden: true, load: () => import("./complete.ts") },
];
