/*
 * Shell text for bash, which every sandbox has, that looks at ports and asks URLs. Small images have neither `ss` nor `curl`, and a command that
 * is missing looks like one that is not ready yet.
 */

/** State of a listening TCP socket, and of a UDP one that is bound (include/net/tcp_states.h of the kernel). */
const LISTENING = { tcp: "0A", udp: "07" };

/** The other end of a socket that has none, in `/proc/net`. */
const NOBODY = { v4: "00000000:0000", v6: `${"0".repeat(32)}:0000` };

/** Ends with 0 when every port is listened on, by TCP or UDP, on any address. The tables are read at once: a busy sandbox has long ones. */
export function portScript(ports: readonly number[]): string {
  const hex = ports.map((port) => port.toString(16).toUpperCase().padStart(4, "0"));
  return `tables=$(for table in tcp tcp6 udp udp6; do [ -r /proc/net/$table ] && echo "$(< /proc/net/$table)"; done)
for port in ${hex.join(" ")}; do
  found=
  for state in "${NOBODY.v4} ${LISTENING.tcp}" "${NOBODY.v6} ${LISTENING.tcp}" "${NOBODY.v4} ${LISTENING.udp}" "${NOBODY.v6} ${LISTENING.udp}"; do
    [[ $tables == *":$port $state "* ]] && found=1
  done
  [ -n "$found" ] || exit 1
done`;
}

/** Ends with 0 when the URL answers with the status: `command` if there is a curl, else a plain request of our own. `word`: the URL as a word of a shell. */
export function urlScript(command: string, word: string, status: string): string {
  return `if command -v curl > /dev/null; then ${command}; exit; fi
url=${word}
case $url in http://*) ;; *) echo "there is no curl in this image to ask $url" >&2; exit 1 ;; esac
rest=\${url#http://}
host=\${rest%%/*}
path=/
[ "$rest" = "$host" ] || path=/\${rest#*/}
port=\${host##*:}
[ "$port" = "$host" ] && port=80
{ exec 3<> "/dev/tcp/\${host%:*}/$port"; } 2> /dev/null || exit 1
printf 'GET %s HTTP/1.0\\r\\nHost: %s\\r\\nConnection: close\\r\\n\\r\\n' "$path" "$host" >&3
read -r -t 5 _ answer _ <&3
[ "$answer" = ${status} ]`;
}

/** Prints what `parseListening` reads. */
export const LISTENING_SCRIPT = "cat /proc/net/tcp /proc/net/tcp6 2>/dev/null; cat /proc/sys/net/ipv4/ip_local_port_range";

/** The agent's own. */
const AGENT_PORT = 49983;
/** Of a template; more say nothing. */
const MAX_PORTS = 16;
const DEFAULT_EPHEMERAL = 32768;

/** TCP ports that are listened on, without the agent's and those that a program gets by chance, which are others the next time. */
export function parseListening(text: string): number[] {
  const lines = text.split("\n").map((line) => line.trim().split(/\s+/));
  const range = lines.find((words) => words.length === 2 && words.every((word) => /^\d+$/.test(word)));
  const ephemeral = Number(range?.[0] ?? DEFAULT_EPHEMERAL);
  const ports = lines.flatMap(([, address = "", , state]) =>
    state === LISTENING.tcp ? [Number.parseInt(address.slice(address.lastIndexOf(":") + 1), 16)] : [],
  );
  const kept = ports.filter((port) => port > 0 && port !== AGENT_PORT && port < ephemeral);
  return [...new Set(kept)].sort((a, b) => a - b).slice(0, MAX_PORTS);
}
