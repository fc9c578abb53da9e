import { RegistryClient } from "./client.ts";
import { loginOf } from "./credentials.ts";
import type { Downloads } from "./downloads.ts";
import { type InstalledImage, type InstallOptions, installImage, settingsFrom } from "./install.ts";
import type { RegistryCredentials } from "./login.ts";
import { type ImageReference, manifestName } from "./reference.ts";
import { RegistrySource } from "./registry-source.ts";
import type { ImageSettings } from "./settings.ts";
import type { Transport } from "./transport.ts";

export interface PullOptions extends InstallOptions {
  readonly reference: ImageReference;
  readonly credentials?: RegistryCredentials;
  readonly transport: Transport;
  readonly downloads: Downloads;
}

/**
 * Installs an image of a registry on this machine. Throws `not_found` (`image_not_found`), `permission_denied` (`registry_denied`),
 * `unavailable` (`registry_unreachable`, `registry_answer`), `resource_exhausted` (`registry_busy`), `failed_precondition`
 * (`image_platform`), `invalid_argument` (`bad_image`, `bad_layer`), `data_loss` (`bad_digest`).
 */
export async function pullImage(options: PullOptions): Promise<InstalledImage> {
  return installImage(await sourceOf(options), options);
}

/** Reads the settings of an image of a registry, without its layers. Errors as for `pullImage`. */
export async function pullSettings(options: SourceOptions): Promise<ImageSettings> {
  return settingsFrom(await sourceOf(options), options.signal);
}

type SourceOptions = Pick<PullOptions, "reference" | "credentials" | "transport" | "downloads" | "signal">;

async function sourceOf({ reference, credentials, transport, downloads, signal }: SourceOptions): Promise<RegistrySource> {
  const login = credentials && (await loginOf(credentials, reference.registry, transport, signal));
  return new RegistrySource(new RegistryClient(reference, login, transport), manifestName(reference), downloads);
}
