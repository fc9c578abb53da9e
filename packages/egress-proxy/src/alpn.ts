/** The list of protocols for application-layer protocol negotiation, as TLS has it: each with its length before it (RFC 7301, 3.1). */
export const HTTP_1 = "\x08http/1.1";
