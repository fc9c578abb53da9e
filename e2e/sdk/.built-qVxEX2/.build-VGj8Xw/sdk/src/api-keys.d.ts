import { type ConnectionOptions } from "./config.ts";
/** An API key, without the key itself. */
export interface ApiKeyInfo {
    readonly id: string;
    readonly name: string;
    /** How it begins and ends: `e2b_12ab…cd34`. */
    readonly hint: string;
    readonly createdAt: Date;
    /** To within ten seconds. */
    readonly lastUsedAt: Date | undefined;
}
export interface NewApiKey extends ApiKeyInfo {
    /** The key itself: the server keeps its hash only and cannot show it again. */
    readonly key: string;
}
/** The keys of your team. Whoever holds one can do everything, also make and revoke keys. */
export declare class ApiKeys {
    private constructor();
    /** Makes a key. */
    static create(name: string, opts?: ConnectionOptions): Promise<NewApiKey>;
    /** All keys, the oldest first. */
    static list(opts?: ConnectionOptions): Promise<ApiKeyInfo[]>;
    /** Takes a key away from its holder, at once. False when there was none. The last one cannot be revoked. */
    static revoke(id: string, opts?: ConnectionOptions): Promise<boolean>;
}
