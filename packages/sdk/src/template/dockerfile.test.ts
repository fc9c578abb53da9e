import { expect, test } from "bun:test";
import { InvalidArgumentError } from "../errors.ts";
import { parseDockerfile } from "./dockerfile.ts";
import { execForm, instructionsOf } from "./dockerfile-lines.ts";
import { splitWords, WordError, WordReader } from "./dockerfile-words.ts";

const parse = (text: string, args: Record<string, string> = {}, target?: string) =>
  parseDockerfile(text, { context: ".", ignoreFile: "/nowhere", args, target });
const short = (steps: readonly { type: string; args: readonly string[] }[]) => steps.map(({ type, args: values }) => [type, ...values]);
/** Steps after the two that begin every file, as short texts. */
const steps = (text: string, args: Record<string, string> = {}) => short(parse(`FROM debian:12\n${text}`, args).steps.slice(2));
const END = [
  ["USER", "user"],
  ["WORKDIR", "/home/user"],
];
const ARCH = process.arch === "x64" ? "amd64" : process.arch;

test("a file becomes steps, with root and / at the start and user and home at the end", () => {
  const { origin, steps: all, startCmd } = parse("FROM debian:12\nRUN apt-get update\n");
  expect(origin).toEqual({ fromImage: "debian:12" });
  expect(short(all)).toEqual([["USER", "root"], ["WORKDIR", "/"], ["RUN", "apt-get update"], ...END]);
  expect(startCmd).toBeUndefined();
  expect(parse("FROM boxyard/base:v1 AS x").origin).toEqual({ fromTemplate: "base:v1" });
  expect(all.map(({ at }) => at?.line)).toEqual([1, 1, 2, 1, 1]);
});

test("continued lines, comments and blank lines between them", () => {
  expect(steps("# one\nRUN a \\\n  # two\n\n  && b \\\n  && c\nUSER me:grp\nWORKDIR /srv")).toEqual([
    ["RUN", "a   && b   && c"],
    ["USER", "me"],
    ["WORKDIR", "/srv"],
  ]);
  expect(
    parse("# syntax=x\n# escape=`\nFROM x\nRUN a `\n b \\\nENV P=C:\\x Q=`$x")
      .steps.slice(2, 4)
      .map(({ args }) => args),
  ).toEqual([["a  b \\"], ["P", "C:\\x", "Q", "$" + "{BOXYARD_NOTHING:-$}x"]]);
});

test("exec form is quoted for the shell; what is no JSON is shell form", () => {
  expect(steps('RUN ["echo", "a b", "it\'s"]').at(0)).toEqual(["RUN", "echo 'a b' 'it'\\''s'"]);
  expect(steps("RUN [ -f /x ]").at(0)).toEqual(["RUN", "[ -f /x ]"]);
  expect(execForm("['a']")).toBeUndefined();
});

test("ENV in both forms; the server puts in what the file does not know", () => {
  expect(steps("ENV A=1 B=\"two words\" C=a\\ b\nENV OLD some 'words'\nENV P=/x:$PATH\nENV A=2 D=$A E='$A' F=\\$A")).toEqual([
    ["ENV", "A", "1", "B", "two words", "C", "a b"],
    ["ENV", "OLD", "some words"],
    ["ENV", "P", "/x:$" + "{PATH}"],
    ["ENV", "A", "2", "D", "1", "E", "$" + "{BOXYARD_NOTHING:-$}A", "F", "$" + "{BOXYARD_NOTHING:-$}A"],
    ...END,
  ]);
});

test.each([
  ["$A/b", "one/b"],
  ["$" + "{A}b", "oneb"],
  ["$" + "{A:-x}$" + "{EMPTY:-d}$" + "{EMPTY-d}", "oned"],
  ["$" + "{A:+set}$" + "{EMPTY:+set}$" + "{EMPTY+set}", "setset"],
  ["$" + "{EMPTY:-$" + "{A}}", "one"],
  ["$" + "{FILE#*.}|$" + "{FILE##*.}|$" + "{FILE%.*}|$" + "{FILE%%.*}", "tar.gz|gz|a.tar|a"],
  ["$" + "{FILE/a/b}|$" + "{FILE//a/b}", "b.tar.gz|b.tbr.gz"],
  ["$NONE", "$" + "{NONE}"],
  ["$" + "{NONE:-d}", "$" + "{NONE:-d}"],
  ["'$A' \"$A\" \\$A $", "$" + "{BOXYARD_NOTHING:-$}A one $" + "{BOXYARD_NOTHING:-$}A $"],
  ["$" + "{A:?never}", "one"],
])("the word %p is sent as %p", (word, wanted) => {
  const known = new Map(Object.entries({ A: "one", EMPTY: "", FILE: "a.tar.gz" }));
  expect(new WordReader({ known, deferred: new Map() }, "\\").forServer(word)).toBe(wanted);
});

test.each(["'a", '"a', "$" + "{", "$" + "{A", "$" + "{1}", "$" + "{NONE:?is needed}", "$" + "{NONE#x}", "$" + "{A^^}", "$" + "{NONE:-$X}"])(
  "the word %p has no meaning",
  (word) => {
    const reader = new WordReader({ known: new Map([["A", "1"]]), deferred: new Map() }, "\\");
    expect(() => reader.forServer(word)).toThrow(WordError);
  },
);

test("ARG: before FROM for FROM, after it for its stage; RUN gets it, sandboxes do not; given values win", () => {
  const text = `ARG V=11\nFROM debian:\${V}\nARG X=1\nARG Y\nARG V\nARG Z=/z:$PATH\nRUN a\nCOPY a /\${X}/\nENV X=2 W=$X Q=$Z\nRUN $X\n`;
  const { origin, steps: all } = parse(text, { V: "12", Y: "y$y" });
  expect(origin).toEqual({ fromImage: "debian:12" });
  const env = { X: "1", Y: "y$" + "{BOXYARD_NOTHING:-$}y", V: "12", Z: "/z:$" + "{PATH}" };
  expect(all.slice(2, 6)).toMatchObject([
    { args: ["a"], env },
    { args: ["a", "/1/", "", ""] },
    { args: ["X", "2", "W", "1", "Q", "/z:$" + "{PATH}"] },
    { args: ["$X"], env },
  ]);
  expect(parse("FROM x\nARG TARGETARCH\nRUN a").steps[2]?.env).toEqual({ TARGETARCH: ARCH });
  expect(parse("FROM x\nRUN a", { HTTP_PROXY: "p", OTHER: "o" }).steps[2]?.env).toEqual({ HTTP_PROXY: "p" });
});

test("COPY and ADD of files, with owner and mode, are one step each", () => {
  expect(steps('COPY --chown=me:g --chmod=755 a /b c/ /dest/\nADD ["x y", "/z"]')).toEqual([
    ["COPY", "a /b c/", "/dest/", "me:g", "755"],
    ["ADD", "x y", "/z", "", ""],
    ...END,
  ]);
  expect(parse("FROM x\nARG D=d\nCOPY $D /app").steps[2]).toMatchObject({
    copy: { context: ".", sources: ["d"], isAdd: false, ignoreFile: "/nowhere" },
    text: "COPY $D /app",
  });
});

test("stages: those that are needed, in the order of the file, each with what it inherits", () => {
  const text = `FROM a AS one
ARG X=1
ENV E=e
SHELL ["/bin/bash", "-e", "-c"]
CMD ["inherited"]
FROM one AS Two
RUN in two $X
FROM unused AS never
RUN --mount=type=cache,target=/x never
FROM b
COPY --from=two /x /y
COPY --from=0 /x* /z/
COPY --from=registry:5000/img /q /q
COPY --from=boxyard/base:v1 /w /w
FROM one AS last
ENTRYPOINT echo
`;
  const { stages = [], steps: all, origin } = parse(text, {}, "3");
  expect(origin).toEqual({ fromImage: "b" });
  expect(stages.map(({ name, origin: from, steps: own }) => [name, from, own.length])).toEqual([
    ["registry:5000/img", { fromImage: "registry:5000/img" }, 0],
    ["two", { fromImage: "a" }, 4],
    ["one", { fromImage: "a" }, 3],
  ]);
  expect(stages[1]?.steps[3]).toMatchObject({
    args: ["/bin/bash -e -c 'in two $X'"],
    env: { X: "1" },
    text: "RUN in two $X",
    at: { line: 7 },
  });
  expect(all.slice(2, 6)).toMatchObject([
    { args: ["/x", "/y", "", ""], fromStage: "two", sources: [{ path: "/x" }] },
    { args: ["/x*", "/z/", "", ""], fromStage: "one", sources: [{ path: "/x*" }] },
    { fromStage: "registry:5000/img" },
    { from: "base:v1" },
  ]);
  // A new entry point has nothing to do with what the stage before was to run.
  expect([parse(text, {}, "LAST").startCmd, parse(text, {}, "one").startCmd, parse(text).stages]).toEqual([
    "/bin/bash -e -c echo",
    "inherited",
    [],
  ]);
});

test("RUN --mount=type=secret, several of them", () => {
  const text =
    "RUN --mount=type=secret,id=one --mount=type=secret,target=/x/two,required,mode=0440 --mount=type=secret,id=three,env=THREE make";
  expect(parse(`FROM x\n${text}`).steps[2]).toMatchObject({
    args: ["make"],
    text,
    secrets: [
      { id: "one", required: false },
      { id: "two", target: "/x/two", mode: "0440", required: true },
      { id: "three", env: "THREE" },
    ],
  });
});

test("here-documents: a script, input of a command, a file", () => {
  const text = "RUN <<EOF\nset -e\necho $HOME\nEOF\nRUN cat <<'X' > /f\n a\nX\nARG V=1\nCOPY <<-C <<'D' /etc/\n\tx=$V\nC\n$V\nD";
  const [script, input, one, two] = parse(`FROM x\n${text}`).steps.slice(2);
  expect([script?.args, input?.args]).toEqual([["set -e\necho $HOME\n"], ["cat <<'X' > /f\n a\nX"]]);
  expect([one?.copy, two?.copy]).toEqual([
    { name: "C", text: "x=1\n" },
    { name: "D", text: "$V\n" },
  ]);
  expect(parse("FROM x\nRUN <<EOF\n#!/usr/bin/python3\nprint(1)\nEOF").steps[2]?.args[0]).toStartWith(
    "f=$(mktemp) && printf %s '#!/usr/bin/python3",
  );
  for (const plain of ["RUN cat <<<word", "RUN echo $((1<<2))", 'RUN echo "a <<B"']) {
    expect(parse(`FROM x\n${plain}\nUSER me`).steps.map(({ type }) => type)).toEqual(["USER", "WORKDIR", "RUN", "USER", "WORKDIR"]);
  }
});

test.each([
  ['ENTRYPOINT ["python3", "-m"]\nCMD ["http.server", "80 80"]', "python3 -m http.server '80 80'"],
  ["CMD node server.js", "node server.js"],
  ['ENTRYPOINT ["a"]\nCMD b c', "a /bin/sh -c 'b c'"],
  ["ENTRYPOINT a b\nCMD c", "a b"],
  ["CMD c\nENTRYPOINT []", "c"],
  ["CMD a\nCMD b", "b"],
  ['CMD ["a"]\nENTRYPOINT ["b"]', "b a"],
  ['SHELL ["/bin/bash", "-o", "pipefail", "-c"]\nCMD a | b', "/bin/bash -o pipefail -c 'a | b'"],
  ['SHELL ["/bin/sh", "-c"]\nCMD a | b', "a | b"],
  ["CMD []", undefined],
])("%p starts %p", (text, wanted) => {
  expect(parse(`FROM x\n${text}`).startCmd).toBe(wanted as string);
});

test("what cannot be taken over is refused, with its line", () => {
  const refused = [
    ["", "there is no FROM"],
    ["RUN x", "line 1 (RUN): FROM must come first"],
    ["FROM a AS x\nFROM b AS X", "line 2 (FROM): there are two stages 'x'"],
    ["FROM scratch\nRUN x", "line 2 (RUN): not supported: RUN after FROM scratch"],
    ["FROM scratch\nENTRYPOINT x", "line 2 (ENTRYPOINT): not supported: the shell form of ENTRYPOINT after FROM scratch"],
    ['FROM scratch\nENTRYPOINT ["x"]\nCMD y', "line 3 (CMD): not supported: the shell form of CMD"],
    ['FROM scratch\nCMD ["x"]\nHEALTHCHECK CMD y', "line 3 (HEALTHCHECK): not supported: the shell form of HEALTHCHECK"],
    ["FROM scratch AS a\nRUN x\nFROM b\nCOPY --from=a /x /y", "line 2 (RUN): not supported: RUN after FROM scratch"],
    ["FROM --platform=linux/mips x", "line 1 (FROM): not supported: images for linux/mips"],
    ["FROM a b", "the form is FROM image [AS name]"],
    ["FROM a AS 1", "'1' cannot be the name of a stage"],
    ["FROM $V", "FROM needs an image, and '$V' is not one"],
    ["FROM a\nCOPY --from=7 /x /y", "line 2 (COPY): there is no stage 7 before this one"],
    ["FROM a AS b\nCOPY --from=b /x /y", "line 2 (COPY): a stage cannot copy from itself"],
    ["FROM a\nCOPY --parents /x /y", "line 2 (COPY): not supported: COPY --parents"],
    ["FROM a\nADD --from=b /x /y", "line 2 (ADD): not supported: ADD --from"],
    ["FROM a\nCOPY --chmod=u+x x /y", "line 2 (COPY): not supported: --chmod=u+x; write the mode in octal digits"],
    ["FROM a\nCOPY x y /z", "with several sources the destination must end with '/', not be /z"],
    ["FROM a\nCOPY $X /z", "$" + "{X} is not set in this file"],
    ["FROM a\nRUN --mount=type=tmpfs,target=/x x", "RUN --mount=type=tmpfs"],
    ["FROM a\nRUN --mount=type=cache x", "a cache mount needs a target"],
    ["FROM a\nRUN --mount=type=cache,target=/x,uid=me x", "must be numbers"],
    ["FROM a\nRUN --mount=type=cache,target=/x,from=b x", "not supported: 'from' of a cache"],
    ["FROM a\nRUN --mount=source=x x", "a bind mount needs a target"],
    ["FROM a\nRUN --mount=from=7,target=/x x", "there is no stage 7 before this one"],
    ["FROM a\nRUN --mount=type=secret,id=a/b x", "a secret needs an id"],
    ["FROM a\nRUN --mount=type=secret,id=a,uid=5 x", "not supported: 'uid' of a secret"],
    ["FROM a\nRUN --network=none x", "not supported: RUN --network=none"],
    ["FROM a\nADD https://example.com/x.git /y", "use RUN with curl"],
    ["FROM a\nADD ftp://example.com/x /y", "use RUN with curl"],
    ["FROM a\nCOPY https://example.com/x /y", "use RUN with curl"],
    ["FROM a\nADD --checksum=md5:1 https://example.com/x /y", "--checksum must be sha256:"],
    [`FROM a\nADD --checksum=sha256:${"a".repeat(64)} x /y`, "--checksum is for one URL alone"],
    ["FROM a\n\nCOPIE x y", "line 3 (COPIE): there is no such instruction"],
    ["FROM a\nconstructor x y", "line 2 (CONSTRUCTOR): there is no such instruction"],
    ["FROM a\nCOPY x", "needs a source and a destination"],
    ["FROM a\nSHELL /bin/sh", "SHELL needs a list"],
    ["FROM a\nONBUILD FROM x", "line 2 (ONBUILD): ONBUILD FROM is not allowed"],
    ["FROM a\nONBUILD", "line 2 (ONBUILD): ONBUILD needs an instruction"],
    ["FROM a\nHEALTHCHECK curl x", "line 2 (HEALTHCHECK): the form is HEALTHCHECK"],
    ["FROM a\nENV 1=2", "'1' is not a valid name of a variable"],
    ["FROM a\nENV A=$" + "{B", "is not a reference to a variable"],
    ["FROM a\nARG 1", "'1' is not a valid name of a variable"],
    ["FROM a\nEXPOSE", "line 2 (EXPOSE): EXPOSE needs an argument"],
    ["FROM a\nRUN", "RUN needs a command"],
    ["FROM a\nRUN <<EOF\nx", "there is no line 'EOF' that ends its here-document"],
    ["# escape=x\nFROM a", "line 1 (escape): it must be"],
  ] as const;
  for (const [text, message] of refused) {
    expect(() => parse(text)).toThrow(InvalidArgumentError);
    expect(() => parse(text)).toThrow(message);
  }
  expect(() => parse("FROM a", {}, "b")).toThrow("there is no stage 'b'");
});

test("HEALTHCHECK is the ready command of what is started, ONBUILD waits for later stages", () => {
  const health = "HEALTHCHECK --interval=1s CMD";
  expect(parse(`FROM a\nCMD serve\n${health} test -e x`)).toMatchObject({ startCmd: "serve", readyCmd: "test -e x" });
  expect(parse(`FROM a\nCMD serve\n${health} ["test", "-e", "a b"]`)).toMatchObject({ readyCmd: "test -e 'a b'" });
  expect(parse(`FROM a AS b\n${health} x\nFROM b\nCMD serve`)).toMatchObject({ readyCmd: "x" });
  for (const text of [`FROM a\n${health} x`, `FROM a\nCMD serve\n${health} x\nHEALTHCHECK NONE`])
    expect(parse(text).readyCmd).toBeUndefined();
  const parts = parse("FROM a AS b\nONBUILD RUN x $V\nFROM b AS c\nRUN y\nFROM c");
  expect(short(parts.steps.slice(2, -2))).toEqual(short(parse("FROM a\nRUN x $V\nRUN y").steps.slice(2, -2)));
});

test("mounts of a RUN: caches, and files of the context and of stages", () => {
  const flags = "--mount=type=cache,target=/c,uid=5,sharing=locked --mount=type=cache,id=n,dst=/d,ro --mount=src=f,target=f";
  const [run] = parse(`FROM a AS s\nFROM b\nRUN ${flags} --mount=type=bind,from=s,source=/out,target=/in,rw x`).steps.slice(2);
  expect(run?.args).toEqual(["x"]);
  expect(run?.mounts).toEqual([
    { type: "cache", target: "/c", owner: "5:0" },
    { type: "cache", target: "/d", id: "n", readonly: true },
    { type: "bind", target: "f" },
    { type: "bind", target: "/in", source: "/out", fromStage: "s" },
  ]);
  expect([...(run?.bound ?? [])].map(([i, { sources }]) => [i, sources])).toEqual([[2, ["f"]]]);
});

test("instructions without effect are passed over, and reported", () => {
  const notes: string[] = [];
  const text = "FROM a\nEXPOSE 80\nLABEL a=b\nVOLUME /x\nMAINTAINER me\nSTOPSIGNAL 9";
  const parts = parseDockerfile(text, { context: ".", ignoreFile: "", args: {}, onNote: (note) => notes.push(note) });
  expect(short(parts.steps.slice(2))).toEqual(END);
  expect([notes.length, notes[0]]).toEqual([5, "line 2: EXPOSE has no effect on a template"]);
});

test("hostile texts are read or refused, within the time of a test", () => {
  const refused: [text: string, message: string][] = [
    ["\\\n".repeat(20_000), "FROM must come first"],
    [`FROM a\nRUN <<${"A".repeat(50_000)}\n`, "line 2 (RUN): there is no line 'AAAA"],
    [`FROM a\nENV ${'"'.repeat(50_001)}`, "ENV needs a name and a value"],
    ["\0\uFEFF=$", "FROM must come first"],
    [["FROM a\nENV A=$", "{B:-".repeat(20_000)].join(""), "is not a reference to a variable"],
    [`FROM a\nARG A=${"a".repeat(4000)}\nENV B=$\{A%%*a*a*b}`, "the value of A is too long"],
  ];
  for (const [text, message] of refused) {
    expect(() => parse(text)).toThrow(InvalidArgumentError);
    expect(() => parse(text)).toThrow(message);
  }
  expect(parse(`FROM a\nARG A=${"a".repeat(256)}\nENV B=$\{A%%*a*a*b} C=$\{A//*a*a*b/}`).steps).toHaveLength(5);
  expect(parse(`FROM a\n${"RUN x <<A\nA\n".repeat(5000)}`).steps).toHaveLength(5004);
  expect(splitWords("a 'b c' \"d \\\" e\" f\\ g ''", "\\")).toEqual(["a", "'b c'", '"d \\" e"', "f\\ g", "''"]);
  expect(instructionsOf("RUN a \\").instructions).toEqual([{ line: 1, name: "RUN", rest: "a", heredocs: [] }]);
});
