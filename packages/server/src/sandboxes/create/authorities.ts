/**
 * Certificate authorities that sandboxes trust beside those of their images, and the environment by which programs find them that do not
 * read the system's own list. Both are the same for builds and for running sandboxes (setting BOXYARD_AUTHORITIES).
 */
export interface Authorities {
  /** PEM; empty: none. */
  readonly pem: string;
  readonly env: Readonly<Record<string, string>>;
}

export const NO_AUTHORITIES: Authorities = { pem: "", env: {} };
