import type { EgressRules } from "@boxyard/sdk";
import { type Command, InvalidArgumentError, Option } from "commander";

type Env = Readonly<Record<string, string | undefined>>;

/** Collects `-e KEY=VALUE`; `-e KEY` takes the value from our own environment. */
export function collectEnv(own: Env): (text: string, before?: Record<string, string>) => Record<string, string> {
  return (text, before) => {
    const at = text.indexOf("=");
    const key = at < 0 ? text : text.slice(0, at);
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(key)) throw new InvalidArgumentError("give it as KEY=VALUE, or KEY to pass on your own variable");
    const value = at < 0 ? own[key] : text.slice(at + 1);
    if (value === undefined) throw new InvalidArgumentError(`your environment has no variable ${key}`);
    return { ...before, [key]: value };
  };
}

/** Collects `KEY=VALUE` pairs. */
export function collectPairs(text: string, before: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError("give it as KEY=VALUE");
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

/** Collects `VARIABLE=SECRET`: variables whose values are stored secrets. */
export function collectEnvSecrets(text: string, before: Record<string, string> = {}): Record<string, string> {
  const [, variable, secret] = /^([A-Za-z_][A-Za-z0-9_]*)=([A-Za-z0-9_-]+)$/.exec(text) ?? [];
  if (variable === undefined || secret === undefined)
    throw new InvalidArgumentError("give it as VARIABLE=SECRET; `boxyard secret list` shows names");
  return { ...before, [variable]: secret };
}

/** A volume, and where a sandbox has it. */
export interface MountOption {
  readonly volume: string;
  readonly readOnly: boolean;
}

/** Collects `NAME:PATH` and `NAME:PATH:ro`, by path. */
export function collectMounts(text: string, before: Record<string, MountOption> = {}): Record<string, MountOption> {
  const [, volume, path, readOnly] = /^([A-Za-z0-9_-]+):(\/[^:]*)(:ro)?$/.exec(text) ?? [];
  if (volume === undefined || path === undefined) throw new InvalidArgumentError("give it as NAME:PATH, or NAME:PATH:ro to read only");
  if (path in before) throw new InvalidArgumentError(`there is a volume at ${path} already`);
  return { ...before, [path]: { volume, readOnly: readOnly !== undefined } };
}

const UNITS: Readonly<Record<string, number>> = { "": 1, s: 1, m: 60, h: 3600, d: 86_400 };

/** `90`, `90s`, `15m`, `2h`: a duration, in seconds. */
export function parseSeconds(text: string): number {
  const match = /^(\d+(?:\.\d+)?)([smhd]?)$/.exec(text);
  const seconds = match ? Number(match[1]) * (UNITS[match[2] ?? ""] ?? 1) : Number.NaN;
  if (!(seconds > 0)) throw new InvalidArgumentError("give a number of seconds above 0, or one with a unit: 90s, 15m, 2h");
  return seconds;
}

/** The same, and `0`: none. */
export const parseSecondsOrNone = (text: string): number => (text === "0" ? 0 : parseSeconds(text));

export type NetworkPreset = NonNullable<EgressRules["preset"]>;

export const NETWORK_PRESETS: readonly NetworkPreset[] = ["none", "packages", "all"];

export interface NetworkChoice {
  readonly network?: NetworkPreset;
  readonly internet: boolean;
  readonly record?: string;
  readonly replay?: string;
  readonly onMiss?: "deny" | "pass";
}

/** Options of a create that say what it may reach, and what becomes of its exchanges by HTTP. */
export function addNetworkOptions(command: Command): Command {
  return command
    .addOption(
      new Option("--network <preset>", "what it may reach: nothing, the package registries of the server's machine, or all (default: all)")
        .choices(NETWORK_PRESETS)
        .conflicts("internet"),
    )
    .option("--no-internet", "the same as --network none")
    .option("--record <name>", "keep every exchange by HTTP in this recording")
    .addOption(new Option("--replay <name>", "answer requests by HTTP from this recording").conflicts("record"))
    .addOption(
      new Option(
        "--on-miss <what>",
        "with --replay, what happens to a request without an answer (default: deny, and nothing leaves it)",
      ).choices(["deny", "pass"]),
    );
}

/** The network of a create, as its options say. */
export function networkOf({ network, internet, record, replay, onMiss }: NetworkChoice) {
  const wanted = {
    ...(network && { preset: network }),
    ...(record !== undefined && { record }),
    ...(replay !== undefined && { replay }),
    ...(onMiss && { onMiss }),
  };
  return { ...(Object.keys(wanted).length > 0 && { network: wanted }), ...(!internet && { allowInternetAccess: false }) };
}

/** A port of the Internet protocols. */
export function parsePort(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new InvalidArgumentError("a port is a whole number from 1 to 65535");
  return port;
}

/** A whole number of at least 1. */
export function parseCount(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1) throw new InvalidArgumentError("give a whole number of at least 1");
  return count;
}
