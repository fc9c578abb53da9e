import { expect, test } from "bun:test";
import { plainCommand } from "./plain-command.ts";

test.each([
  ["/server --port=80", ["/server", "--port=80"]],
  ["  /a\t b ", ["/a", "b"]],
  [`/a 'b c' "d e" f'g'"h" ''`, ["/a", "b c", "d e", "fgh", ""]],
  [`/a 'it'\\''s' '$HOME; x'`, ["/a", "it's", "$HOME; x"]],
  ["/a K=v", ["/a", "K=v"]],
])("%p needs no shell", (line, words) => {
  expect(plainCommand(line)).toEqual(words);
});

test.each([
  "",
  " ",
  "''",
  "a | b",
  "a; b",
  "a && b",
  "a > f",
  "echo $A",
  'echo "$A"',
  "echo `x`",
  "ls *",
  "~/a",
  "A=1 b",
  "'open",
  "a #x",
  "a\nb",
  "(a)",
])("%p needs one", (line) => {
  expect(plainCommand(line)).toBeUndefined();
});
