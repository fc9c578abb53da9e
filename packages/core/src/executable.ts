/** Defined by `tools/executable/build.ts`, and not in a checkout. */
declare const BOXYARD_BUILD: string | undefined;

/** Build id of the single executable that `boxyard dist` makes and that runs now, 16 hex digits. Undefined in a checkout. */
export const executableBuild: string | undefined = typeof BOXYARD_BUILD === "undefined" ? undefined : BOXYARD_BUILD;

/**
 * First arguments with which the executable runs another program than the command line client. Internal. A checkout starts the program's own file
 * instead.
 */
export const PROGRAM = { server: "@server", layerWorker: "@layer-worker", egressProxy: "@egress-proxy" } as const;

/** Name of the directory next to the executable's code with its files; recipes of templates are in its `images/`, as in a checkout. */
export const CARRIED_DIRECTORY = "carried";

/**
 * Exit code of `serve` on a machine that is not set up, or not for this version (EX_CONFIG of sysexits.h). The command line then runs `setup` and starts
 * the server again.
 */
export const EXIT_SETUP_NEEDED = 78;
