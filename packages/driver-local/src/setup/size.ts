import { AppError } from "@boxyard/core";

const UNITS: Readonly<Record<string, number>> = { "": 1, K: 1024, M: 1024 ** 2, G: 1024 ** 3, T: 1024 ** 4 };

/** `20G`, `512MiB` or a number of bytes. Anything else is `invalid_argument`. */
export function parseSize(name: string, text: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?$/i.exec(text.trim());
  const unit = UNITS[(match?.[2] ?? "").toUpperCase()];
  if (!match || unit === undefined) {
    throw new AppError("invalid_argument", `${name}='${text}' is not a size such as 20G`, { reason: "invalid_setting" });
  }
  return Math.floor(Number(match[1]) * unit);
}
