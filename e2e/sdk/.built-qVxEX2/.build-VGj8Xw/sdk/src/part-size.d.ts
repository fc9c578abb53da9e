/** How large the parts of an upload are, by how long earlier ones took: the link's speed is known only by using it. */
export declare class PartSize {
    private wanted;
    private count;
    private readonly least;
    /** @param totalBytes - Of all parts; undefined when nobody knows. */
    constructor(totalBytes: number | undefined);
    /** Size of the next part, which is then taken as given out. */
    next(): number;
    /** Tells how long one took. */
    took(bytes: number, ms: number): void;
}
