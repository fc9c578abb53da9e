/** Lists of protocols for application-layer protocol negotiation, as TLS has them: each with its length before it (RFC 7301, 3.1). */
export const HTTP_1 = "\x08http/1.1";
/** For clients: one that offers HTTP/1.0 alone is refused by a list that lacks it. */
export const ANY_HTTP_1 = `${HTTP_1}\x08http/1.0`;
export const HTTP_2 = "\x02h2";
/** For servers: each chooses. */
export const HTTP_2_OR_1 = `${HTTP_2}${HTTP_1}`;

/** What is spoken within a connection whose TLS is opened: the same on both of its sides, so that no request is translated. */
export type Spoken = "h2" | "http/1.1";
