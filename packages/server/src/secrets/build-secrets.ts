import type { TeamId } from "@boxyard/core";
import type { StartBuild } from "@boxyard/spec/platform";
import { valueFor } from "./environment.ts";
import type { TeamSecrets } from "./team-secrets.ts";

/** A request to start a build, with the values of its secrets. */
export type BuildRequest = Omit<StartBuild, "secrets"> & { readonly secrets: Readonly<Record<string, string>> };

/** Puts the values of stored secrets in the place of their names. Throws `invalid_argument`, whose message begins with the field. */
export async function withSecretValues(secrets: Pick<TeamSecrets, "value">, teamId: TeamId, request: StartBuild): Promise<BuildRequest> {
  const entries = Object.entries(request.secrets).map(async ([id, given]) => [
    id,
    typeof given === "string" ? given : await valueFor(secrets, teamId, given.stored, `secrets.${id}`),
  ]);
  return { ...request, secrets: Object.fromEntries(await Promise.all(entries)) };
}
