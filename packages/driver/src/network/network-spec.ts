/** Whom a sandbox may speak with. */
export interface NetworkSpec {
  /** False: no packet leaves the sandbox but to the server that reaches in. */
  readonly internetAccess: boolean;
}
