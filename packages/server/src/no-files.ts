import { AppError } from "@boxyard/core";

/* Stand for files that a server was not given. */

export async function noSdkPackage(): Promise<never> {
  throw new AppError("unimplemented", "this server has no client package to serve", { reason: "no_sdk_package" });
}

export async function noDashboard(): Promise<never> {
  throw new AppError("unimplemented", "this server has no dashboard to serve", { reason: "no_dashboard" });
}
