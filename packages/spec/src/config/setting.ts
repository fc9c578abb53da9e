/** One setting. All of them come from environment variables, which are read only in `config.ts` files. */
export interface Setting {
  readonly name: string;
  /** What a value looks like, with its unit. */
  readonly form: string;
  readonly usedBy: "server" | "client" | "both";
  /** What holds when the variable is unset or empty; in words where it is calculated. */
  readonly default: string;
  readonly meaning: string;
}
