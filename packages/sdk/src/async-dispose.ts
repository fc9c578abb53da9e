// Projects whose compiler settings do not know `await using` yet learn its types from here.
/// <reference lib="esnext.disposable" preserve="true" />
/** `Symbol.asyncDispose`, also where the platform has none yet (`await using` is then compiled to code that looks for this one). */
export const asyncDispose: typeof Symbol.asyncDispose = Symbol.asyncDispose ?? (Symbol.for("Symbol.asyncDispose") as never);
