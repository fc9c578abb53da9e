import { AppError, type TeamId } from "@boxyard/core";
import { checkVolumeMounts, sameVolumeMounts } from "@boxyard/driver";
import type { NewSandbox } from "@boxyard/spec/platform";
import type { SandboxVolume, TemplateVersion } from "../store/index.ts";
import type { Volumes } from "./volumes.ts";

type Asked = NonNullable<NewSandbox["volumeMounts"]>;

const refuse = (message: string) => new AppError("invalid_argument", `volumeMounts: ${message}`, { reason: "bad_volume_mounts" });

/**
 * The volumes of a new sandbox: those that its request and its template name, or those of the captured sandbox when it goes on from a snapshot with memory,
 * whose processes have files of them open. Throws `invalid_argument`, whose message begins with the field; `unimplemented`.
 */
export async function volumesOfCreate(
  volumes: Volumes,
  teamId: TeamId,
  asked: Asked = [],
  version: Pick<TemplateVersion, "spec" | "teamId" | "name">,
): Promise<readonly SandboxVolume[]> {
  const { snapshot } = version.spec;
  const captured = (snapshot?.memory && snapshot.volumes) || [];
  const ofTemplate = mountsOfTemplate(teamId, asked, version);
  if (asked.length === 0 && captured.length === 0 && ofTemplate.length === 0) return [];
  volumes.mustHave();
  // The owner of a public snapshot shares its memory, not its volumes.
  if (captured.length > 0 && version.teamId !== teamId) throw refuse("the snapshot's memory needs volumes of another team");
  if (asked.length === 0 && captured.length > 0) return captured;
  checkMounts([...asked, ...ofTemplate]);
  const found = await Promise.all([
    ...asked.map((mount) => resolve(volumes, teamId, mount)),
    ...ofTemplate.map((mount) => resolve(volumes, teamId, mount, version.name)),
  ]);
  if (snapshot?.memory && !sameVolumeMounts(found.map(toDriver), captured.map(toDriver))) {
    throw refuse("a snapshot with memory goes on with the volumes that its sandbox had: name the same ones, or none");
  }
  return found;
}

/**
 * The template's mounts at whose paths the request has none. A template of another team gets no volume of this one by its name: its programs could
 * read it.
 */
function mountsOfTemplate(
  teamId: TeamId,
  asked: Asked,
  { spec, teamId: owner, name }: Pick<TemplateVersion, "spec" | "teamId" | "name">,
): Asked {
  const mounts = (spec.volumeMounts ?? []).filter(({ path }) => !asked.some((mount) => mount.path === path));
  if (mounts.length > 0 && owner !== teamId) {
    const paths = mounts.map(({ path }) => path).join(", ");
    throw refuse(`the template '${name}' of another team has volumes at ${paths}: name volumes of your own for these paths`);
  }
  return [...mounts];
}

/** The driver's form of a sandbox's volume. */
export const toDriver = ({ id, path, readOnly }: SandboxVolume) => ({ volume: id, path, readOnly });

/** Directories of the image without which no program starts there, and no user is known. What lies below them, but for these, can be replaced. */
const SYSTEM = new Set([
  "/bin",
  "/etc",
  "/lib",
  "/lib32",
  "/lib64",
  "/sbin",
  "/usr",
  "/usr/bin",
  "/usr/lib",
  "/usr/lib32",
  "/usr/lib64",
  "/usr/sbin",
]);

/** Checks number and paths before any volume is looked up. Throws `invalid_argument`, whose message begins with the field. */
export function checkMounts(asked: Asked): void {
  const system = asked.find(({ path }) => SYSTEM.has(path));
  if (system)
    throw refuse(`No volume can be mounted at ${system.path}, because it would hide the system's own files: use another directory`);
  try {
    checkVolumeMounts(asked.map(({ path }) => ({ volume: "any", path, readOnly: false })));
  } catch (error) {
    throw error instanceof AppError ? refuse(error.message) : error;
  }
}

/** `template`: the template that has the mount, if it is not the request. */
async function resolve(
  volumes: Volumes,
  teamId: TeamId,
  { name, path, readOnly = false }: Asked[number],
  template?: string,
): Promise<SandboxVolume> {
  const record = await volumes.named(teamId, name);
  const by = template === undefined ? "" : `, which the template '${template}' has at ${path}: create it, or name another for this path`;
  if (!record) throw refuse(`there is no volume '${name.slice(0, 200)}'${by}`);
  return { id: record.id, name, path, readOnly };
}
