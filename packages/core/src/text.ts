/** `text` without the `character`s at its end. A pattern such as `/x+$/` would try each of them anew, in quadratic time. */
export function withoutTrailing(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end -= 1;
  return text.slice(0, end);
}
