/** The file of a data directory that says at which point of which step the server kills itself. */
export const KILL_AT = "kill-at";
