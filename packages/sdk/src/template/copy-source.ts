/** Files of a COPY: which, and from where. */
export interface CopySource {
  /** Directory that paths begin at, and that `.dockerignore` is read from. */
  readonly context: string;
  /** A path below the context; `*`, `?` and `**` match. */
  readonly source: string;
}

/** Something that a COPY takes along. */
export interface ContextEntry {
  /** Below the context, with slashes. */
  readonly path: string;
  readonly absolute: string;
  readonly kind: "file" | "directory" | "symlink";
  readonly mode: number;
  readonly size: number;
  /** Of a symlink. */
  readonly target: string;
}

/** A file of a COPY whose text is known. */
export interface TextSource {
  readonly name: string;
  readonly text: string;
}
