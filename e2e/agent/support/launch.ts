import { buildHelper } from "../../../packages/driver-local/src/testing/build-helper.ts";

/** Path of the compiled `launch`. */
export const buildLaunch = (): string => buildHelper("guest/launch");

/** Path of the compiled `init`. */
export const buildInit = (): string => buildHelper("guest/init");
