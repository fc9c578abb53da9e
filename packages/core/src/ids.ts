import { AppError } from "./errors.ts";

declare const brand: unique symbol;
type Branded<T, Name extends string> = T & { readonly [brand]: Name };

/** `i` and 20 characters of `[a-z0-9]`: a valid DNS label part without `-`, as host routing needs. */
export type SandboxId = Branded<string, "SandboxId">;
/** 20 characters of `[a-z0-9]`. */
export type TemplateId = Branded<string, "TemplateId">;
/** A UUID; clients parse it strictly. */
export type BuildId = Branded<string, "BuildId">;
/** A UUID. */
export type TeamId = Branded<string, "TeamId">;

const ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789";
const SANDBOX_ID = /^i[a-z0-9]{20}$/;
/** Text that may be an id. */
const ID_WORD = /^[A-Za-z0-9_-]{1,128}$/;

function randomText(length: number): string {
  let text = "";
  while (text.length < length) {
    for (const byte of crypto.getRandomValues(new Uint8Array(length * 2))) {
      // 252 is the largest multiple of 36 below 256: dropping the rest keeps every character equally likely.
      if (byte < 252 && text.length < length) text += ALPHABET[byte % 36];
    }
  }
  return text;
}

export const newSandboxId = (): SandboxId => `i${randomText(20)}` as SandboxId;
export const newTemplateId = (): TemplateId => randomText(20) as TemplateId;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export const newBuildId = (): BuildId => crypto.randomUUID() as BuildId;
/** `sec_` and 20 characters of `[a-z0-9]`. */
export const newSecretId = (): string => `sec_${randomText(20)}`;
export const newTeamId = (): TeamId => crypto.randomUUID() as TeamId;

/**
 * Parses a sandbox id; the suffix `-<clientID>` of older clients is dropped. Throws `not_found`, reason `sandbox_not_found`, for a word that no
 * sandbox can have as its id (clients expect that for an unknown sandbox), and `invalid_argument`, reason `invalid_sandbox_id`, for other text.
 */
export function parseSandboxId(text: string): SandboxId {
  const id = text.split("-", 1)[0] ?? "";
  if (SANDBOX_ID.test(id)) return id as SandboxId;
  if (!ID_WORD.test(text)) throw new AppError("invalid_argument", "Invalid sandbox ID", { reason: "invalid_sandbox_id" });
  throw sandboxNotFound(text);
}

/** The error for a missing sandbox, and for one of another team: the caller must not learn whether that exists. */
export const sandboxNotFound = (id: string) =>
  new AppError("not_found", `Sandbox "${id}" doesn't exist or you don't have access to it`, { reason: "sandbox_not_found" });

/** True for the text form of a UUID, in either case (RFC 9562, section 4). */
export const isUuid = (text: string): boolean => UUID.test(text);

export function isSandboxId(text: string): text is SandboxId {
  return SANDBOX_ID.test(text);
}
