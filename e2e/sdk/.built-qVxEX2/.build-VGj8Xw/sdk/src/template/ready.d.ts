/** Something listens on this TCP port. */
export declare function waitForPort(port: number): string;
/** This URL, asked from inside, answers with the status. */
export declare function waitForUrl(url: string, status?: number): string;
/** A process of this name runs. */
export declare function waitForProcess(name: string): string;
/** This path exists. */
export declare function waitForFile(path: string): string;
/** Some time has passed; whole seconds, at least one. */
export declare function waitForTimeout(ms: number): string;
