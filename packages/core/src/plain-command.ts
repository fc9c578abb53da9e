/** Characters without special meaning for a shell, outside of quotes. */
const PLAIN = /^[A-Za-z0-9_@%+=:,./-]$/;

/**
 * The words of a command line that needs no shell: plain words, and quoted texts without substitutions. Undefined for a line that needs one (variables,
 * patterns, several commands). With it a command in exec form, which clients send as one line, runs in an image without a shell.
 */
export function plainCommand(line: string): string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  for (let i = 0; i < line.length; i++) {
    const char = line.charAt(i);
    if (char === " " || char === "\t") {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (char === "'" || char === '"') {
      const end = line.indexOf(char, i + 1);
      const text = line.slice(i + 1, end);
      if (end < 0 || (char === '"' && /[$`\\!]/.test(text))) return undefined;
      word = (word ?? "") + text;
      i = end;
    } else if (char === "\\" && i + 1 < line.length && line.charAt(i + 1) !== "\n") {
      word = (word ?? "") + line.charAt(++i);
    } else if (PLAIN.test(char)) word = (word ?? "") + char;
    else return undefined;
  }
  if (word !== undefined) words.push(word);
  // A variable before a command is the shell's to set.
  return words.length === 0 || words[0] === "" || /^[A-Za-z_]\w*=/.test(words[0] ?? "") ? undefined : words;
}
