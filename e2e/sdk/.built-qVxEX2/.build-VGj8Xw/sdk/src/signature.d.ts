export interface SignatureInput {
    /** Exactly as it stands in the URL's `path`; empty when there is none. */
    readonly path: string;
    readonly operation: "read" | "write";
    /** Exactly as it stands in the URL's `username`; empty when there is none. */
    readonly user: string;
    readonly accessToken: string;
    /** Unix seconds; undefined means for ever. */
    readonly expiration?: number | undefined;
}
/** Signature of a file URL: whoever holds the URL may do this one thing, without the token (contract/wire.md 3.4). */
export declare function signFileUrl(input: SignatureInput): Promise<string>;
