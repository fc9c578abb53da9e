/** Version of this release: of the server, the command line and the packages. */
export const VERSION = "0.1.0";
