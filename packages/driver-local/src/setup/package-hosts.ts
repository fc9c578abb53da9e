import { homedir } from "node:os";
import { join } from "node:path";
import { BLOCKED_NETWORKS } from "@boxyard/core";
import { parseHostRule, parseRange } from "@boxyard/driver";
import { aptSources } from "./base/machine.ts";
import { lastSettings, linesOf, type Setting } from "./package-settings.ts";
import type { SetupConfig } from "./types.ts";

/** More hosts than this are left out: a sandbox's list has at most 256 entries, and the user's own are among them. */
const MOST = 64;

type Env = SetupConfig["env"];

/**
 * The hosts of the package registries that this machine's pip, npm, apt, cargo and go are set to use, by their files and the environment, in the form of
 * entries for `allowOut`. Hosts that no sandbox reaches are left out: those of closed networks, and names at other ports than 80 and 443. What a program
 * uses because nothing is set is unknown here. `etc`: the directory of the system's settings.
 */
export function packageHosts({ env }: Pick<SetupConfig, "env">, etc = "/etc"): string[] {
  const home = env.HOME || homedir();
  const config = env.XDG_CONFIG_HOME || join(home, ".config");
  const values = [...pip(env, home, config, etc), ...npm(env, home, etc), ...cargo(env, home), ...go(env, config), ...apt(etc)];
  return [...new Set(values.flatMap((value) => value.split(/[\s,|"'[\]]+/)).flatMap(hostOf))].toSorted().slice(0, MOST);
}

/** The host of an address with a scheme, if sandboxes can reach it. */
function hostOf(address: string): string[] {
  const url = URL.parse(address.replace(/^(sparse|git|registry)\+/, ""));
  if (!url || !/^https?:$/.test(url.protocol)) return [];
  if (parseRange(url.hostname)) return isClosed(url.hostname) ? [] : [url.hostname];
  const name = url.port === "" ? parseHostRule(url.hostname) : undefined;
  return name === undefined || name === "localhost" || name.startsWith("*") ? [] : [name];
}

const CLOSED = BLOCKED_NETWORKS.flatMap((network) => parseRange(network) ?? []);

function isClosed(address: string): boolean {
  const at = parseRange(address)?.first ?? 0;
  return CLOSED.some(({ first, last }) => first <= at && at <= last);
}

const PIP_NAMES = new Set(["index-url", "extra-index-url"]);

/** pip's files, from the most general to the most exact, then the variables of pip and of uv. */
function pip(env: Env, home: string, config: string, etc: string): string[] {
  const files = [join(etc, "xdg/pip/pip.conf"), join(etc, "pip.conf"), join(home, ".pip/pip.conf"), join(config, "pip/pip.conf")];
  const given = [...setIn(env, "PIP_INDEX_URL", "index-url"), ...setIn(env, "PIP_EXTRA_INDEX_URL", "extra-index-url")];
  const settings = [...files, env.PIP_CONFIG_FILE ?? ""]
    .flatMap(linesOf)
    .map((setting) => ({ ...setting, name: setting.name.replaceAll("_", "-") }))
    // A variable is used in place of every section.
    .filter(({ name }) => PIP_NAMES.has(name) && given.every((other) => other.name !== name));
  const uv = ["UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL"].flatMap((name) => env[name] ?? []);
  // `UV_INDEX` may name each of its addresses: NAME=ADDRESS.
  return [...lastSettings([...settings, ...given]), ...uv.map((value) => value.replace(/(^|\s)[\w-]+=/g, "$1"))];
}

/** The registry and those of scopes (`@scope:registry`). */
function npm(env: Env, home: string, etc: string): string[] {
  const ofUser = env.NPM_CONFIG_USERCONFIG || env.npm_config_userconfig || join(home, ".npmrc");
  const files = [join(etc, "npmrc"), "/usr/etc/npmrc", "/usr/local/etc/npmrc", env.npm_config_globalconfig ?? "", ofUser];
  const isRegistry = (name: string) => name === "registry" || /^@[^:]+:registry$/.test(name);
  const settings = files.flatMap(linesOf).filter(({ name }) => isRegistry(name));
  const given = Object.entries(env).flatMap(([variable, value = ""]) => {
    const name = /^npm_config_(.+)$/i.exec(variable)?.[1]?.toLowerCase() ?? "";
    return isRegistry(name) && value !== "" ? [{ section: "", name, value }] : [];
  });
  const filled = (text: string) => text.replace(/\$\{([A-Za-z0-9_]+)\??\}/g, (_all, name: string) => env[name] ?? "");
  return lastSettings([...settings.map((setting) => ({ ...setting, section: "" })), ...given]).map(filled);
}

/** The registries that cargo knows, and those that take the place of another. */
function cargo(env: Env, home: string): string[] {
  const directory = env.CARGO_HOME || join(home, ".cargo");
  const settings = ["config", "config.toml"].flatMap((file) => linesOf(join(directory, file)));
  const named = settings.filter(({ name }) => name === "index" || name === "registry").map(({ value }) => value);
  const given = Object.entries(env).flatMap(([name, value = ""]) => (/^CARGO_REGISTRIES_.+_INDEX$/.test(name) ? [value] : []));
  return [...named, ...given];
}

/** The proxies of modules, and the database of checksums: a name with its key, or one with its address. */
function go(env: Env, config: string): string[] {
  const file = env.GOENV === "off" ? "" : env.GOENV || join(config, "go/env");
  const settings = linesOf(file).filter(({ name }) => name === "GOPROXY" || name === "GOSUMDB");
  const given = ["GOPROXY", "GOSUMDB"].flatMap((name) => setIn(env, name, name));
  return lastSettings([...settings, ...given]).map((value) => value.replace(/^([a-z0-9-]+(\.[a-z0-9-]+)+)(\+\S*)?$/, "https://$1"));
}

function apt(etc: string): string[] {
  try {
    return aptSources(join(etc, "apt")).flatMap(({ uris }) => uris);
  } catch {
    // Files that cannot be read say nothing, as with the others.
    return [];
  }
}

const setIn = (env: Env, variable: string, name: string): Setting[] => {
  const value = env[variable];
  return value ? [{ section: "", name, value }] : [];
};
