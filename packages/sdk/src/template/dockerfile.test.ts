import { expect, test } from "bun:test";
import { InvalidArgumentError } from "../errors.ts";
import { parseDockerfile } from "./dockerfile.ts";
import { execForm, instructionsOf, wordsOf } from "./dockerfile-lines.ts";

const parse = (text: string, args: Record<string, string> = {}) => parseDockerfile(text, ".", args);
/** Steps after the two that begin every file, as short texts. */
const steps = (text: string, args: Record<string, string> = {}) =>
  parse(`FROM debian:12\n${text}`, args)
    .steps.slice(2)
    .map(({ type, args: values }) => [type, ...values]);
const END = [
  ["USER", "user"],
  ["WORKDIR", "/home/user"],
];

test("a file becomes steps, with root and / at the start and user and home at the end", () => {
  const { origin, steps: all, startCmd } = parse("FROM debian:12\nRUN apt-get update\n");
  expect(origin).toEqual({ fromImage: "debian:12" });
  expect(all.map(({ type, args }) => [type, ...args])).toEqual([["USER", "root"], ["WORKDIR", "/"], ["RUN", "apt-get update"], ...END]);
  expect(startCmd).toBeUndefined();
  expect(parse("FROM boxyard/base:v1 AS x").origin).toEqual({ fromTemplate: "base:v1" });
});

test("continued lines, comments and blank lines between them", () => {
  expect(steps("# one\nRUN a \\\n  # two\n\n  && b \\\n  && c\nUSER me:grp\nWORKDIR /srv")).toEqual([
    ["RUN", "a   && b   && c"],
    ["USER", "me"],
    ["WORKDIR", "/srv"],
  ]);
  expect(parse("# escape=`\nFROM x\nRUN a `\n b").steps[2]?.args).toEqual(["a  b"]);
});

test("exec form is quoted for the shell; what is no JSON is shell form", () => {
  expect(steps('RUN ["echo", "a b", "it\'s"]').at(0)).toEqual(["RUN", "echo 'a b' 'it'\\''s'"]);
  expect(steps("RUN [ -f /x ]").at(0)).toEqual(["RUN", "[ -f /x ]"]);
  expect(execForm("['a']")).toBeUndefined();
});

test("ENV in both forms; the server expands what the file does not know", () => {
  expect(steps('ENV A=1 B="two words" C=a\\ b\nENV OLD some words\nENV P=/x:$PATH')).toEqual([
    ["ENV", "A", "1", "B", "two words", "C", "a b"],
    ["ENV", "OLD", "some words"],
    ["ENV", "P", "/x:$PATH"],
    ...END,
  ]);
});

test("ARG: before FROM for FROM, after it as a variable; given values win", () => {
  const text = `ARG V=11\nFROM debian:\${V}\nARG X=1\nARG Y\nCOPY a /\${X}/\n`;
  const { origin, steps: all } = parse(text, { V: "12", Y: "y" });
  expect(origin).toEqual({ fromImage: "debian:12" });
  expect(all.slice(2, 5).map(({ args }) => args)).toEqual([
    ["X", "1"],
    ["Y", "y"],
    ["a", "/1/", "root", ""],
  ]);
});

test("COPY and ADD of files, with owner and mode", () => {
  expect(steps('COPY --chown=me:g --chmod=755 a /b c/ /dest/\nADD ["x y", "/z"]')).toEqual([
    ["COPY", "a", "/dest/", "me:g", "755"],
    ["COPY", "b", "/dest/", "me:g", "755"],
    ["COPY", "c/", "/dest/", "me:g", "755"],
    ["COPY", "x y", "/z", "root", ""],
    ...END,
  ]);
  expect(parse("FROM x\nCOPY . /app").steps[2]?.copy).toEqual({ context: ".", source: "." });
});

test("here-documents: a script, input of a command, a file", () => {
  expect(steps("RUN <<EOF\nset -e\necho $HOME\nEOF\nRUN cat <<'X' > /f\n a\nX\nCOPY <<-C /etc/\n\tx=1\nC").slice(0, 3)).toEqual([
    ["RUN", "set -e\necho $HOME\n"],
    ["RUN", "cat <<'X' > /f\n a\nX"],
    ["RUN", `mkdir -p "$(dirname /etc/C)" && printf %s 'x=1\n' > /etc/C`, "root"],
  ]);
});

test("ENTRYPOINT and CMD make the start command", () => {
  expect(parse('FROM x\nENTRYPOINT ["python3", "-m"]\nCMD ["http.server", "80 80"]').startCmd).toBe("python3 -m http.server '80 80'");
  expect(parse("FROM x\nCMD node server.js").startCmd).toBe("node server.js");
});

test("what cannot be taken over is refused, with its line", () => {
  const refused = [
    ["", "there is no FROM"],
    ["RUN x", "line 1 (RUN): FROM must come first"],
    ["FROM a\nFROM b", "line 2 (FROM): not supported"],
    ["FROM scratch", "line 1 (FROM): not supported"],
    ["FROM a\nCOPY --from=b /x /y", "line 2 (COPY): not supported: COPY --from"],
    ["FROM a\nRUN --mount=type=cache x", "RUN --mount"],
    ["FROM a\nADD https://example.com/x /y", "use RUN with curl"],
    ["FROM a\n\nCOPIE x y", "line 3 (COPIE): there is no such instruction"],
    ["FROM a\nCOPY x", "needs a source and a destination"],
    ['FROM a\nSHELL ["pwsh"]', "commands run in bash"],
  ] as const;
  for (const [text, message] of refused) {
    expect(() => parse(text)).toThrow(InvalidArgumentError);
    expect(() => parse(text)).toThrow(message);
  }
});

test("instructions without effect are passed over", () => {
  expect(steps("EXPOSE 80\nLABEL a=b\nVOLUME /x\nHEALTHCHECK NONE")).toEqual(END);
});

test("hostile texts end, and quickly", () => {
  for (const text of ["\\\n".repeat(20_000), `FROM a\nRUN <<${"A".repeat(50_000)}\n`, `FROM a\nENV ${'"'.repeat(50_001)}`, "\0\uFEFF=$"]) {
    const startedAt = performance.now();
    try {
      parse(text);
    } catch (error) {
      expect(error).toBeInstanceOf(InvalidArgumentError);
    }
    expect(performance.now() - startedAt).toBeLessThan(1000);
  }
  expect(wordsOf("a 'b c' \"d \\\" e\" f\\ g ''")).toEqual(["a", "b c", 'd " e', "f g", ""]);
  expect(instructionsOf("RUN a \\")).toEqual([{ line: 1, name: "RUN", rest: "a", heredocs: [] }]);
});
