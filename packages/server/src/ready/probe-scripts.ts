/*
 * Scripts for bash, which every sandbox has, that check ports and URLs. Small images have neither `ss` nor `curl`, and a missing command looks like
 * a service that is not ready yet.
 */

/** State of a listening TCP socket, and of a bound UDP socket (include/net/tcp_states.h of the kernel). */
const LISTENING = { tcp: "0A", udp: "07" };

/** The remote address of a socket without a peer, in `/proc/net`. */
const NOBODY = { v4: "00000000:0000", v6: `${"0".repeat(32)}:0000` };

/** A script that exits with 0 when a program listens on every port, by TCP or UDP, on any address. It reads each table once, because a busy sandbox has long ones. */
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

/** A script that exits with 0 when the URL answers with the status. It runs `command` if there is curl, else it sends a plain request. `word`: the URL as a word of a shell. */
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

/** A script whose output `parseListening` reads. */
export const LISTENING_SCRIPT = "cat /proc/net/tcp /proc/net/tcp6 2>/dev/null; cat /proc/sys/net/ipv4/ip_local_port_range";

/** The port of the agent. */
const AGENT_PORT = 49983;
/** Most ports of a template that are kept. */
const MAX_PORTS = 16;
const DEFAULT_EPHEMERAL = 32768;

/** The TCP ports that programs listen on, ascending, without the agent's port and without ephemeral ports, which differ in each sandbox. */
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
