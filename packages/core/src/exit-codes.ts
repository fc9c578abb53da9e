/**
 * Exit code of `serve` on a machine that is not set up, or not for this version (EX_CONFIG of sysexits.h). The command line then runs `setup` and starts
 * the server again.
 */
export const EXIT_SETUP_NEEDED = 78;
