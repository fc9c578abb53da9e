import { z } from "zod";
import { named } from "../openapi.ts";

/** Deepest nesting of a JSON body. */
export const MAX_JSON_DEPTH = 64;
/** Longest lifetime in seconds that fits every clock involved; the server's own limit is lower. */
const MAX_SECONDS = 10 * 365 * 24 * 3600;

export const ErrorBody = z
  .object({
    code: z.int().meta({ description: "Repeats the HTTP status", example: 404 }),
    message: z.string().meta({ description: "One sentence that says what to do" }),
    error_code: z.string().optional().meta({ description: "Reason of the error, for programs; later versions may add reasons" }),
    details: z
      .object({
        limit: z
          .string()
          .meta({ description: "Name of the limit; a setting's name for a limit that the setting gives", example: "sandboxes" }),
        value: z.number().meta({ description: "The most that there may be", example: 20 }),
      })
      .optional()
      .meta({ description: "The limit that was met, for 429" }),
  })
  .meta(named("Error"));
export type ErrorBody = z.infer<typeof ErrorBody>;

export const StringMap = z.record(z.string(), z.string());

const seconds = z.int("must be a whole number of seconds").min(0, "must not be negative").max(MAX_SECONDS, "is too large");
export const Seconds = seconds;

/** Id of a sandbox in a path; the suffix of older clients is allowed here and dropped by the server. */
export const SandboxPath = z.object({
  sandboxID: z.string().meta({ param: { name: "sandboxID", in: "path" }, example: "i0123456789abcdefghij" }),
});
