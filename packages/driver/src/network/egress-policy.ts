/** What may leave a sandbox: one value from the request to the kernel's rules. */
export interface EgressPolicy {
  /** False: no packet leaves the sandbox, but answers to the server that reaches in. */
  readonly internetAccess: boolean;
}
