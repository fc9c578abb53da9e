import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { addedAuthorities, authorityPlaces, bundleEnv, machineBundle } from "./authorities.ts";
import { machineAptSettings } from "./base/machine.ts";
import { passwordsIn, splitPasswords } from "./build-passwords.ts";
import { systemEnv } from "./config.ts";
import type { SetupConfig } from "./types.ts";

/** Files and environment for the sandboxes of template builds; none of them may stay in the built template. */
export interface MachineBuildSettings {
  /** Text of each file, by its absolute path in the sandbox. */
  readonly files: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string>>;
  /** Addresses with passwords, by their variables on this machine. They are in no environment; a build step gets one when it requests it. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Texts that must not appear in logs. */
  readonly passwords: readonly string[];
}

const PROXY_VARIABLES = ["http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"];
const PIP_FILES = ["/etc/pip.conf", "/etc/xdg/pip/pip.conf"];
const PIP_NAMES = new Set(["index-url", "extra-index-url", "trusted-host", "proxy", "timeout", "retries"]);
const NPM_FILES = ["/etc/npmrc", "/usr/etc/npmrc", "/usr/local/etc/npmrc"];
const NPM_NAMES = new Set(["registry", "proxy", "https-proxy", "noproxy", "strict-ssl"]);

/**
 * The settings that let builds reach packages as this machine does (docs/decisions.md, Company networks): those of its apt, pip and npm, proxies, and
 * the extra authorities that `authorities` (BOXYARD_AUTHORITIES) names. There are no tokens among them, and passwords in addresses are only in
 * files and secrets. `directory`: directory of the files in the sandbox.
 */
export async function machineBuildSettings(
  directory: string,
  setup: Pick<SetupConfig, "env">,
  { authorities = "machine" }: { readonly authorities?: string } = {},
): Promise<MachineBuildSettings> {
  const proxy = proxies(setup.env);
  const split = splitPasswords(directory, { proxy, pip: pipSettings(setup.env), npm: npmSettings(setup.env) });
  const { secrets } = split;
  const files: Record<string, string> = { ...split.files };
  const env: Record<string, string> = { ...split.env };
  const apt = existsSync("/etc/apt") ? await machineAptSettings(systemEnv(setup.env)).catch(() => []) : [];
  const added = addedAuthorities(authorityPlaces(authorities));
  const bundle = added === "" ? undefined : machineBundle();
  if (bundle !== undefined) {
    const path = join(directory, "ca.crt");
    files[path] = `${bundle.trimEnd()}\n${added}`;
    Object.assign(env, bundleEnv(path));
    apt.push(`Acquire::https::CaInfo "${path}"`);
  }
  // Paths of this machine do not exist in the sandbox.
  const lines = apt.filter((line) => !/"\//.test(line) || line.includes(directory)).map((line) => `${line};\n`);
  if (lines.length > 0) files["/etc/apt/apt.conf.d/99boxyard-build"] = lines.join("");
  const names = Object.keys(env);
  if (names.length > 0) files["/etc/sudoers.d/zz-boxyard-build"] = `Defaults env_keep += "${names.join(" ")}"\n`;
  return { files, env, secrets, passwords: passwordsIn([...Object.values(secrets), ...lines]) };
}

type Env = Readonly<Record<string, string | undefined>>;

/** The proxies in the environment, without those on this machine's loopback addresses, which a sandbox cannot reach. */
function proxies(env: Env): Record<string, string> {
  const set = PROXY_VARIABLES.flatMap((name) => (env[name] ? [[name, env[name]] as const] : []));
  return Object.fromEntries(set.filter(([, value]) => !/\/\/(localhost|127\.|\[::1\])/.test(value)));
}

/** `PIP_INDEX_URL` and the like, from pip's own files and the environment. */
function pipSettings(env: Env): Record<string, string> {
  const settings: Record<string, string> = {};
  for (const [name, value] of PIP_FILES.flatMap((file) => entriesOf(file, "global"))) {
    if (PIP_NAMES.has(name)) settings[variableOf("PIP_", name)] = value;
  }
  for (const name of PIP_NAMES) {
    const value = env[variableOf("PIP_", name)];
    if (value) settings[variableOf("PIP_", name)] = value;
  }
  return settings;
}

function npmSettings(env: Env): Record<string, string> {
  const settings: Record<string, string> = {};
  const home = env.HOME ? [join(env.HOME, ".npmrc")] : [];
  for (const [name, value] of [...NPM_FILES, ...home].flatMap((file) => entriesOf(file))) {
    if (NPM_NAMES.has(name)) settings[`npm_config_${name.replaceAll("-", "_")}`] = value;
  }
  return settings;
}

const variableOf = (prefix: string, name: string) => prefix + name.replaceAll("-", "_").toUpperCase();

/** The `name = value` lines of a file: those of `[section]`, or without `section` those before the first section. */
export function entriesOf(file: string, section?: string): [string, string][] {
  if (!existsSync(file)) return [];
  let current: string | undefined;
  return readFileSync(file, "utf8")
    .split("\n")
    .flatMap((line) => {
      const header = /^\s*\[([^\]]+)\]\s*$/.exec(line)?.[1];
      if (header !== undefined) current = header;
      const equals = line.indexOf("=");
      const [name, value] = [line.slice(0, Math.max(equals, 0)).trim(), line.slice(equals + 1).trim()];
      if (current !== section || !/^[A-Za-z][\w-]*$/.test(name)) return [];
      const plain = value.replace(/^"/, "").replace(/"$/, "");
      return plain === "" ? [] : [[name, plain] as [string, string]];
    });
}
