import { AppError, type TeamId } from "@boxyard/core";
import { checkVolumeMounts, sameVolumeMounts } from "@boxyard/driver";
import type { NewSandbox } from "@boxyard/spec/platform";
import type { SandboxVolume, TemplateVersion } from "../store/index.ts";
import type { Volumes } from "./volumes.ts";

type Asked = NonNullable<NewSandbox["volumeMounts"]>;

const refuse = (message: string) => new AppError("invalid_argument", `volumeMounts: ${message}`, { reason: "bad_volume_mounts" });

/**
 * The volumes of a new sandbox: those that its request names, or those of the captured sandbox when it goes on from a snapshot with memory, whose
 * processes have files of them open. Throws `invalid_argument`, whose message begins with the field; `unimplemented`.
 */
export async function volumesOfCreate(
  volumes: Volumes,
  teamId: TeamId,
  asked: Asked = [],
  { spec: { snapshot }, teamId: owner }: Pick<TemplateVersion, "spec" | "teamId">,
): Promise<readonly SandboxVolume[]> {
  const captured = (snapshot?.memory && snapshot.volumes) || [];
  if (asked.length === 0 && captured.length === 0) return [];
  volumes.mustHave();
  // The owner of a public snapshot shares its memory, not its volumes.
  if (captured.length > 0 && owner !== teamId) throw refuse("the snapshot's memory needs volumes of another team");
  if (asked.length === 0) return captured;
  checkPaths(asked);
  const found = await Promise.all(asked.map((mount) => resolve(volumes, teamId, mount)));
  if (snapshot?.memory && !sameVolumeMounts(found.map(toDriver), captured.map(toDriver))) {
    throw refuse("a snapshot with memory goes on with the volumes that its sandbox had: name the same ones, or none");
  }
  return found;
}

/** The driver's form of a sandbox's volume. */
export const toDriver = ({ id, path, readOnly }: SandboxVolume) => ({ volume: id, path, readOnly });

/** Checks number and paths before any volume is looked up. */
function checkPaths(asked: Asked): void {
  try {
    checkVolumeMounts(asked.map(({ path }) => ({ volume: "any", path, readOnly: false })));
  } catch (error) {
    throw error instanceof AppError ? refuse(error.message) : error;
  }
}

async function resolve(volumes: Volumes, teamId: TeamId, { name, path, readOnly = false }: Asked[number]): Promise<SandboxVolume> {
  const record = await volumes.named(teamId, name);
  if (!record) throw refuse(`there is no volume '${name.slice(0, 200)}'`);
  return { id: record.id, name, path, readOnly };
}
