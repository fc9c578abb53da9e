/**
 * Certificate authorities that sandboxes trust besides those of their images (setting BOXYARD_AUTHORITIES), and environment variables for programs
 * that do not read the system's list. Builds and running sandboxes get the same.
 */
export interface Authorities {
  /** PEM; empty: none. */
  readonly pem: string;
  readonly env: Readonly<Record<string, string>>;
}

export const NO_AUTHORITIES: Authorities = { pem: "", env: {} };
