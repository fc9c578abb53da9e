/** `Symbol.asyncDispose`, also where the platform has none yet (`await using` is then compiled to code that looks for this one). */
export declare const asyncDispose: typeof Symbol.asyncDispose;
