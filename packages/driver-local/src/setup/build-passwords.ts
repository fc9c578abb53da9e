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

/** `name:password@` of an address, or of several; a proxy may be named without a scheme. */
const LOGIN = /(^|\s|\/\/)([^\s/@]+)@/g;

/**
 * Takes passwords out of what becomes the environment of untrusted commands, which print it, keep it and hand it on. pip and npm read theirs
 * from a file that enters no layer; of a proxy's address the environment keeps the part without the password, and the whole is a secret.
 */
export function splitPasswords(directory: string, { proxy, pip, npm }: MachineVariables): SplitSettings {
  const env: Record<string, string> = {};
  const secrets: Record<string, string> = {};
  for (const [name, value] of Object.entries({ ...proxy, ...pip, ...npm })) {
    const bare = value.replace(LOGIN, "$1");
    if (bare !== value) secrets[name] = value;
    // The environment would win over the file.
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

/** The passwords in addresses, as they stand there and as what they mean. */
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
