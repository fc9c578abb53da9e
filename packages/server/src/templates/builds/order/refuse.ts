import { AppError } from "@boxyard/core";

/** The error for a request to start a build that is not valid. The message begins with the member's path. */
export const refuse = (message: string) => new AppError("invalid_argument", message, { reason: "invalid_build" });
