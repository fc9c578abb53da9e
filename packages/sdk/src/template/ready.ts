import { shellWord } from "./shell-word.ts";

/*
 * Conditions for `setReadyCmd`: shell commands that end with 0 when the sandbox is ready. The server repeats them until they do.
 */

/** Something listens on this TCP port. */
export function waitForPort(port: number): string {
  return `ss -Htuln | grep -q ':${Math.trunc(port)} '`;
}

/** This URL, asked from inside, answers with the status. */
export function waitForUrl(url: string, status = 200): string {
  return `[ "$(curl -s -o /dev/null -w '%{http_code}' ${shellWord(url)})" = "${Math.trunc(status)}" ]`;
}

/** A process of this name runs. */
export function waitForProcess(name: string): string {
  return `pgrep -x ${shellWord(name)} > /dev/null`;
}

/** This path exists. */
export function waitForFile(path: string): string {
  return `[ -e ${shellWord(path)} ]`;
}

/** Some time has passed; whole seconds, at least one. */
export function waitForTimeout(ms: number): string {
  return `sleep ${Math.max(1, Math.ceil(ms / 1000))}`;
}
