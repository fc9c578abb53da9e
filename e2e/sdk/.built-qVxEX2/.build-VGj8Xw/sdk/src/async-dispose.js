/** `Symbol.asyncDispose`, also where the platform has none yet (`await using` is then compiled to code that looks for this one). */
export const asyncDispose = Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose");
