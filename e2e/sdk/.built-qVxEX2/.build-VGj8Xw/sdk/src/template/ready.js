import { shellWord } from "./steps.js";
/*
 * Conditions for `setReadyCmd`: shell commands that end with 0 when the sandbox is ready. The server repeats them until they do.
 */
/** Something listens on this TCP port. */
export function waitForPort(port) {
    return `ss -Htuln | grep -q ':${Math.trunc(port)} '`;
}
/** This URL, asked from inside, answers with the status. */
export function waitForUrl(url, status = 200) {
    return `[ "$(curl -s -o /dev/null -w '%{http_code}' ${shellWord(url)})" = "${Math.trunc(status)}" ]`;
}
/** A process of this name runs. */
export function waitForProcess(name) {
    return `pgrep -x ${shellWord(name)} > /dev/null`;
}
/** This path exists. */
export function waitForFile(path) {
    return `[ -e ${shellWord(path)} ]`;
}
/** Some time has passed; whole seconds, at least one. */
export function waitForTimeout(ms) {
    return `sleep ${Math.max(1, Math.ceil(ms / 1000))}`;
}
