import { AppError } from "@boxyard/core";
import { z } from "zod";
import { ecrLogin } from "./ecr.ts";
import type { Login, RegistryCredentials } from "./login.ts";
import type { Transport } from "./transport.ts";

/** The user name that Google's registries expect with a key file as the password. */
const JSON_KEY_USER = "_json_key";

/**
 * The user name and password for a registry. With `aws` credentials, the API host of the registry gives a password, which is valid for some hours;
 * with `gcp` ones, the password is the key file. Throws `invalid_argument` (`invalid_registry_credentials`), `permission_denied`
 * (`registry_denied`), `unavailable`.
 */
export async function loginOf(
  credentials: RegistryCredentials,
  registry: string,
  transport: Transport,
  signal: AbortSignal,
): Promise<Login> {
  switch (credentials.type) {
    case "registry":
      return { username: credentials.username, password: credentials.password };
    case "gcp":
      return { username: JSON_KEY_USER, password: keyFile(credentials.serviceAccountJson) };
    case "aws":
      return ecrLogin(credentials, registry, transport, signal);
  }
}

const KeyFile = z.object({ type: z.literal("service_account"), private_key: z.string(), client_email: z.string() });

function keyFile(text: string): string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (KeyFile.safeParse(value).success) return text;
  throw new AppError("invalid_argument", "fromImageRegistry.serviceAccountJson: not the JSON key file of a service account", {
    reason: "invalid_registry_credentials",
  });
}
