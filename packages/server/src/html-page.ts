/** Escapes text for HTML. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

const STYLE =
  "body{font:16px/1.5 system-ui,sans-serif;max-width:38rem;margin:12vh auto;padding:0 1rem;color:#222;background:#fff}" +
  "code{background:#8881;padding:.1em .3em;border-radius:3px}small{color:#666}" +
  "@media(prefers-color-scheme:dark){body{color:#ddd;background:#161616}a{color:#8bf}small{color:#999}}";

/** The pages have no scripts, and load nothing. */
export const PAGE_HEADERS: readonly (readonly [string, string])[] = [
  ["Content-Type", "text/html; charset=utf-8"],
  ["Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; frame-ancestors 'none'"],
  ["X-Content-Type-Options", "nosniff"],
];

/** A whole page. `title` is text, `content` HTML. */
export function htmlPage(title: string, content: string): string {
  return (
    `<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title>` +
    `<style>${STYLE}</style></head><body>${content}</body></html>`
  );
}
