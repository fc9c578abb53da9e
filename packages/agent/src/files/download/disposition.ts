const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const ASCII = /^[\x20-\x7e]*$/;

/** `inline` with the file's name (RFC 6266): bare, quoted, or percent-encoded (RFC 2231, 8187) when it holds more than printable ASCII. */
export function contentDisposition(name: string): string {
  if (TOKEN.test(name)) return `inline; filename=${name}`;
  if (ASCII.test(name)) return `inline; filename="${name.replace(/["\\]/g, "\\$&")}"`;
  const encoded = encodeURIComponent(name.toWellFormed()).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  return `inline; filename*=utf-8''${encoded}`;
}
