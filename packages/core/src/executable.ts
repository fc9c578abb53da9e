/** Put in by `tools/executable/build.ts`; nobody defines it in a checkout. */
declare const BOXYARD_BUILD: string | undefined;

/** Build id of the single executable that `boxyard dist` makes and that runs now, 16 hex digits. Undefined in a checkout. */
export const executableBuild: string | undefined = typeof BOXYARD_BUILD === "undefined" ? undefined : BOXYARD_BUILD;

/** First argument with which the executable is the server's program; without it, it is the command line client. Not for people. */
export const SERVER_ARGUMENT = "@server";
