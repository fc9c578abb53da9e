/** Version of the command line client. */
export const VERSION = "0.1.0";
