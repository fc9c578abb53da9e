import { AppError, isAppError, type TeamId } from "@boxyard/core";
import type { NewSandbox } from "@boxyard/spec/platform";
import type { SandboxFacts, TemplateVersion } from "../store/index.ts";
import type { TeamSecrets } from "./team-secrets.ts";

type Environment = Pick<SandboxFacts, "envVars" | "secretEnv">;
type Asked = Pick<NewSandbox, "envVars" | "envSecrets">;

/** Bytes of all variables and their values together, as JSON. */
const MAX_ENVIRONMENT_BYTES = 128 << 10;

const refuse = (message: string) => new AppError("invalid_argument", message, { reason: "bad_env_secrets" });

/**
 * The environment of a new sandbox: that of the captured sandbox if it is made from a snapshot (`inherited`), the request's own variables, and the
 * values of the secrets that the request names. Throws `invalid_argument`, whose message begins with the field.
 */
export async function environmentOf(
  secrets: Pick<TeamSecrets, "value">,
  teamId: TeamId,
  { envVars = {}, envSecrets = {} }: Asked,
  { spec, teamId: owner, inherited }: Pick<TemplateVersion, "spec" | "teamId"> & { readonly inherited: Environment["envVars"] },
): Promise<Environment> {
  const marked = spec.snapshot?.secretEnv ?? [];
  const isOwn = owner === teamId;
  if (!isOwn && spec.snapshot?.memory && marked.length > 0) {
    // Its processes have the values in their memory.
    throw refuse("templateID: the memory of this snapshot holds secrets of another team");
  }
  const kept = isOwn ? inherited : Object.fromEntries(Object.entries(inherited).filter(([name]) => !marked.includes(name)));
  const given = await valuesOf(secrets, teamId, envSecrets);
  const all = { ...kept, ...envVars, ...given };
  if (Buffer.byteLength(JSON.stringify(all)) > MAX_ENVIRONMENT_BYTES) {
    throw refuse("envSecrets: with these values the environment has more than 128 KiB");
  }
  const secretEnv = [...new Set([...(isOwn ? marked : []), ...Object.keys(given)])];
  return { envVars: all, ...(secretEnv.length > 0 && { secretEnv }) };
}

async function valuesOf(
  secrets: Pick<TeamSecrets, "value">,
  teamId: TeamId,
  names: Readonly<Record<string, string>>,
): Promise<Record<string, string>> {
  const entries = Object.entries(names).map(async ([variable, name]) => [variable, await valueFor(secrets, teamId, name, "envSecrets")]);
  return Object.fromEntries(await Promise.all(entries));
}

/** The value of a secret that a request names in `field`. Throws `invalid_argument` when there is none. */
export async function valueFor(secrets: Pick<TeamSecrets, "value">, teamId: TeamId, name: string, field: string): Promise<string> {
  try {
    return await secrets.value(teamId, name);
  } catch (error) {
    if (isAppError(error, "secret_not_found")) throw refuse(`${field}: ${error.message}`);
    throw error;
  }
}
