/** Lists of protocols for application-layer protocol negotiation, as TLS has them: each with its length before it (RFC 7301, 3.1). */
export const HTTP_1 = "\x08http/1.1";
/** For clients: one that offers HTTP/1.0 alone is refused by a list that lacks it. */
export const ANY_HTTP_1 = `${HTTP_1}\x08http/1.0`;
