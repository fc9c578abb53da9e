/** 128 random bits as hex. (`crypto.randomUUID` is missing in pages that are neither https nor localhost.) */
export declare function randomKey(): string;
