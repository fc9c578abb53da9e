import { RegistryClient } from "./client.ts";
import { loginOf } from "./credentials.ts";
import type { Downloads } from "./downloads.ts";
import { type InstalledImage, type InstallOptions, installImage } from "./install.ts";
import type { RegistryCredentials } from "./login.ts";
import { type ImageReference, manifestName } from "./reference.ts";
import { RegistrySource } from "./registry-source.ts";
import type { Transport } from "./transport.ts";

export interface PullOptions extends InstallOptions {
  readonly reference: ImageReference;
  readonly credentials?: RegistryCredentials;
  readonly transport: Transport;
  readonly downloads: Downloads;
}

/**
 * Brings an image from a registry to this machine. Throws `not_found` (`image_not_found`), `permission_denied` (`registry_denied`),
 * `unavailable` (`registry_unreachable`, `registry_answer`), `resource_exhausted` (`registry_busy`), `failed_precondition`
 * (`image_platform`), `invalid_argument` (`bad_image`, `bad_layer`), `data_loss` (`bad_digest`).
 */
export async function pullImage(options: PullOptions): Promise<InstalledImage> {
  const { reference, transport, signal } = options;
  return installImage(new RegistrySource(await openRepository(options), manifestName(reference), options.downloads), {
    ...options,
    signal,
  });

  async function openRepository({ credentials }: PullOptions): Promise<RegistryClient> {
    const login = credentials && (await loginOf(credentials, reference.registry, transport, signal));
    return new RegistryClient(reference, login, transport);
  }
}
