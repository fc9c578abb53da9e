import type { Clock } from "@boxyard/core";
import { portScript, urlScript } from "./probe-scripts.ts";

const FIRST_WAIT_MS = 20;
const MAX_WAIT_MS = 2000;
/** How often the log says that the build still waits. */
const TELL_EVERY_MS = 10_000;
/** The wait for a start command without a ready command (docs/contract/templates.md, End of a build). */
const DEFAULT_WAIT_MS = 20_000;
/** Longest wait of a create where no command checks for readiness: clients would not wait longer. */
const MAX_CREATE_WAIT_MS = 30_000;

/** How a sandbox's readiness is found out. */
export type Ready =
  /** The command runs again until it exits with 0. `what` describes that in the log. */
  | { readonly kind: "command"; readonly command: string; readonly what: string }
  /** A time has passed. `isTold`: the template asks for this time. */
  | { readonly kind: "time"; readonly ms: number; readonly isTold: boolean }
  | { readonly kind: "nothing" };

export interface ReadyCommands {
  readonly startCmd?: string | undefined;
  readonly readyCmd?: string | undefined;
}

const UNIT_MS: Readonly<Record<string, number>> = { "": 1000, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parses a template's ready command. The SDKs' commands for ports and URLs become scripts that need no program of the image but bash. */
export function readyOf({ startCmd, readyCmd }: ReadyCommands): Ready {
  const text = readyCmd?.trim() ?? "";
  if (text === "") return startCmd ? { kind: "time", ms: DEFAULT_WAIT_MS, isTold: false } : { kind: "nothing" };
  const [, count, unit = ""] = /^sleep[ \t]+(\d{1,9}(?:\.\d{1,9})?)([smhd]?)$/.exec(text) ?? [];
  if (count !== undefined) return { kind: "time", ms: Number(count) * (UNIT_MS[unit] ?? 1000), isTold: true };
  return portOf(text) ?? urlOf(text) ?? { kind: "command", command: text, what: text };
}

/** `waitForPort` of the published SDKs, and of ours. */
function portOf(text: string): Ready | undefined {
  const [, theirs, ours] = /^(?:\[ -n "\$\(ss -Htuln sport = :(\d{1,5})\)" \]|ss -Htuln \| grep -q ':(\d{1,5}) ')$/.exec(text) ?? [];
  const port = theirs ?? ours;
  if (port === undefined) return undefined;
  return { kind: "command", command: portScript([Number(port)]), what: `port ${port} to be listened on` };
}

const URL_FORMS = [
  /^curl -s -o \/dev\/null -w "%\{http_code\}" (\S.*) \| grep -q "(\d{1,3})"$/,
  /^\[ "\$\(curl -s -o \/dev\/null -w '%\{http_code\}' (\S.*)\)" = "(\d{1,3})" \]$/,
];

/** `waitForURL` of the published SDKs, and of ours. */
function urlOf(text: string): Ready | undefined {
  for (const form of URL_FORMS) {
    const [, word, status] = form.exec(text) ?? [];
    if (word !== undefined && status !== undefined && isOneWord(word))
      return { kind: "command", command: urlScript(text, word, status), what: `${word} to answer with ${status}` };
  }
  return undefined;
}

/** True for a word of a shell that means itself: without quotes, or in single ones. */
function isOneWord(text: string): boolean {
  return text
    .split(`'"'"'`)
    .join("")
    .split("'")
    .every((part, i) => i % 2 === 1 || /^[\w@%+=:,./?~-]*$/.test(part));
}

/**
 * What the create of a sandbox waits for: the same as its template's build. Where that is a time, the create waits for `ports` instead, which were
 * listened on at the build's end, and for `limitMs` at most. `undefined`: for nothing.
 */
export function readyOfSandbox(commands: ReadyCommands, ports: readonly number[]): { ready: Ready; limitMs?: number } | undefined {
  const ready = readyOf(commands);
  if (ready.kind === "nothing") return undefined;
  if (ready.kind === "command") return { ready };
  const limitMs = Math.min(ready.ms, MAX_CREATE_WAIT_MS);
  if (ports.length > 0) return { ready: { kind: "command", command: portScript(ports), what: `ports ${ports.join(", ")}` }, limitMs };
  // No port is known, and the template did not ask for the time.
  return ready.isTold ? { ready: { ...ready, ms: limitMs } } : undefined;
}

/** Calls `ask` until it gives true, at intervals that grow from 20 ms to 2 s. Calls `tell` every ten seconds with the seconds so far. Rejects with the signal's reason. */
export async function untilReady(
  ask: () => Promise<boolean>,
  clock: Clock,
  signal: AbortSignal,
  tell: (seconds: number) => void = () => {},
): Promise<void> {
  const begun = clock.monotonic();
  let told = 0;
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, MAX_WAIT_MS)) {
    if (await ask()) return;
    const waited = clock.monotonic() - begun;
    if (waited - told >= TELL_EVERY_MS) {
      told = waited;
      tell(Math.round(waited / 1000));
    }
    await clock.sleep(waitMs, signal);
  }
}
