import { AppError } from "@boxyard/core";

/** What a request to start a build is refused with; the message begins with the member that is wrong. */
export const refuse = (message: string) => new AppError("invalid_argument", message, { reason: "invalid_build" });
