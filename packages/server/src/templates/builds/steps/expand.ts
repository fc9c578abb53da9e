const VARIABLE = /\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)(?::([-+])([^{}]*))?\})/g;

/** Names of the variables that a text refers to as `$NAME`, `${NAME}`, `${NAME:-word}` or `${NAME:+word}`. */
export function variablesOf(text: string): string[] {
  return [...text.matchAll(VARIABLE)].map((match) => match[1] ?? match[2] ?? "");
}

/** Replaces variables by their values; a variable without a value becomes empty. All other text stays, backslashes and quotes too (docs/contract/templates.md, Steps). */
export function expand(text: string, lookUp: (name: string) => string | undefined): string {
  return text.replace(VARIABLE, (_all, plain?: string, braced?: string, operator?: string, word = "") => {
    const value = lookUp(plain ?? braced ?? "") ?? "";
    if (operator === "-") return value === "" ? word : value;
    if (operator === "+") return value === "" ? "" : word;
    return value;
  });
}
