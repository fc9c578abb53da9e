/** Put in by `tools/executable/build.ts`; nobody defines it in a checkout. */
declare const BOXYARD_BUILD: string | undefined;

/** Build id of the single executable that `boxyard dist` makes and that runs now, 16 hex digits. Undefined in a checkout. */
export const executableBuild: string | undefined = typeof BOXYARD_BUILD === "undefined" ? undefined : BOXYARD_BUILD;

/**
 * First arguments with which the executable is another of our programs than the command line client; for ourselves, not for people. A checkout
 * starts the program's own file instead.
 */
export const PROGRAM = { server: "@server", layerWorker: "@layer-worker" } as const;

/** Name of the directory beside the executable's code with what it carries; recipes of templates are in its `images/`, as in a checkout. */
export const CARRIED_DIRECTORY = "carried";
