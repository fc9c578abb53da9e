import { shellWord } from "./shell-word.ts";

/*
 * Conditions for `setReadyCmd`: shell commands that end with 0 when the sandbox is ready. The server repeats them until they do.
 */

/** A ready command: a program listens on this TCP port. */
export function waitForPort(port: number): string {
  return `ss -Htuln | grep -q ':${Math.trunc(port)} '`;
}

/** A ready command: a request from inside the sandbox to this URL is answered with the status (default 200). */
export function waitForUrl(url: string, status = 200): string {
  return `[ "$(curl -s -o /dev/null -w '%{http_code}' ${shellWord(url)})" = "${Math.trunc(status)}" ]`;
}

/** A ready command: a process with this name runs. */
export function waitForProcess(name: string): string {
  return `pgrep -x ${shellWord(name)} > /dev/null`;
}

/** A ready command: this path exists. */
export function waitForFile(path: string): string {
  return `[ -e ${shellWord(path)} ]`;
}

/** A ready command: this time has passed, in whole seconds, at least one. */
export function waitForTimeout(ms: number): string {
  return `sleep ${Math.max(1, Math.ceil(ms / 1000))}`;
}
