/** Version of this package; sent as `User-Agent` where the platform allows it. */
export declare const SDK_VERSION = "0.1.0";
/** True when `version` (of an agent) is at least `minimum`. A text that is no version counts as the newest. */
export declare function atLeast(version: string, minimum: string): boolean;
