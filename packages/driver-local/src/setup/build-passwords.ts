import { join } from "node:path";

type Variables = Readonly<Record<string, string>>;

export interface MachineVariables {
  readonly proxy: Variables;
  readonly pip: Variables;
  readonly npm: Variables;
}

export interface SplitSettings {
  readonly env: Record<string, string>;
  readonly files: Record<string, string>;
  readonly secrets: Record<string, string>;
}

/** `name:password@` in an address, or in several; the address of a proxy may have no scheme. */
const LOGIN = /(^|\s|\/\/)([^\s/@]+)@/g;

/**
 * Removes passwords from the environment of untrusted commands, which could print, store and pass on what they find there. pip and npm read their
 * passwords from a file that gets into no layer. The environment has a proxy's address without its password, and the whole address is a secret.
 */
export function splitPasswords(directory: string, { proxy, pip, npm }: MachineVariables): SplitSettings {
  const env: Record<string, string> = {};
  const secrets: Record<string, string> = {};
  for (const [name, value] of Object.entries({ ...proxy, ...pip, ...npm })) {
    const bare = value.replace(LOGIN, "$1");
    if (bare !== value) secrets[name] = value;
    // A variable of pip or npm would take precedence over the file.
    if (bare === value || name in proxy) env[name] = bare;
  }
  const files: Record<string, string> = {};
  const pipLines = linesOf(pip, secrets, (name) => name.slice("PIP_".length).toLowerCase().replaceAll("_", "-"));
  if (pipLines !== "") {
    env.PIP_CONFIG_FILE = join(directory, "pip.conf");
    files[env.PIP_CONFIG_FILE] = `[global]\n${pipLines}`;
  }
  const npmLines = linesOf(npm, secrets, (name) => name.slice("npm_config_".length).replaceAll("_", "-"));
  if (npmLines !== "") {
    env.npm_config_globalconfig = join(directory, "npmrc");
    files[env.npm_config_globalconfig] = npmLines;
  }
  return { env, files, secrets };
}

function linesOf(variables: Variables, secrets: Variables, nameOf: (variable: string) => string): string {
  return Object.keys(variables)
    .flatMap((variable) => (secrets[variable] === undefined ? [] : [`${nameOf(variable)}=${secrets[variable].replace(/\s+/g, " ")}\n`]))
    .join("");
}

/** The passwords in addresses, both URL-encoded as they are and decoded. */
export function passwordsIn(texts: readonly string[]): string[] {
  const found = texts.flatMap((text) => [...text.matchAll(LOGIN)].map(([, , login = ""]) => login.slice(login.indexOf(":") + 1)));
  return [...new Set(found.flatMap((password) => [password, decoded(password)]))];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
