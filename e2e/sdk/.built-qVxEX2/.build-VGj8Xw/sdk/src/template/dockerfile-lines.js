import { InvalidArgumentError } from "../errors.js";
/**
 * The instructions of a Dockerfile: comments and empty lines left out, continued lines joined, here-documents read
 * (docs.docker.com/reference/dockerfile, "Format", "Parser directives", "Here-Documents").
 *
 * @throws InvalidArgumentError, reason `dockerfile_invalid`, naming the line.
 */
export function instructionsOf(text) {
    const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
    const escapeChar = escapeOf(lines);
    const instructions = [];
    for (let i = 0; i < lines.length; i++) {
        const first = i;
        if (isNothing(lines[i]))
            continue;
        const parts = [];
        for (; i < lines.length; i++) {
            const line = lines[i] ?? "";
            // Comments and empty lines may stand between continued ones.
            if (i > first && isNothing(line))
                continue;
            const continued = line.trimEnd().endsWith(escapeChar);
            parts.push(continued ? line.trimEnd().slice(0, -1) : line);
            if (!continued)
                break;
        }
        const [, name = "", rest = ""] = /^\s*(\S+)\s*([\s\S]*)$/.exec(parts.join("")) ?? [];
        const heredocs = [];
        for (const { word, stripTabs, isExpanded } of heredocWords(name, rest)) {
            const end = bodyEnd(lines, i + 1, word, stripTabs);
            if (end < 0)
                throw invalid(first + 1, name.toUpperCase(), `there is no line '${word}' that ends its here-document`);
            const body = lines.slice(i + 1, end).map((line) => `${stripTabs ? line.replace(/^\t+/, "") : line}\n`);
            heredocs.push({ word, text: body.join(""), isExpanded });
            i = end;
        }
        instructions.push({ line: first + 1, name: name.toUpperCase(), rest: rest.trim(), heredocs });
    }
    return { instructions, escapeChar };
}
function bodyEnd(lines, from, word, stripTabs) {
    for (let i = from; i < lines.length; i++) {
        const line = lines[i] ?? "";
        if ((stripTabs ? line.replace(/^\t+/, "") : line) === word)
            return i;
    }
    return -1;
}
const isNothing = (line = "") => line.trim() === "" || line.trimStart().startsWith("#");
/** Directives count only before everything else. */
function escapeOf(lines) {
    for (const [i, line] of lines.entries()) {
        const [, key = "", value = ""] = /^\s*#\s*([A-Za-z][\w-]*)\s*=\s*(.+?)\s*$/.exec(line) ?? [];
        if (key === "")
            break;
        if (key.toLowerCase() !== "escape")
            continue;
        if (value !== "\\" && value !== "`")
            throw invalid(i + 1, "escape", `it can be \\ or \`, not '${value.slice(0, 20)}'`);
        return value;
    }
    return "\\";
}
const HEREDOC = /^\d*<<(-?)(["']?)([^\s"'<>;|&()]+)\2/;
/** Here-documents that an instruction announces, where a word begins and outside of quotes. */
function heredocWords(name, rest) {
    const found = [];
    if (!/^(run|copy|add)$/i.test(name) || !rest.includes("<<"))
        return found;
    let quote = "";
    for (let i = 0; i < rest.length; i++) {
        const char = rest.charAt(i);
        if (quote !== "") {
            if (char === quote)
                quote = "";
        }
        else if (char === '"' || char === "'")
            quote = char;
        else if (i === 0 || /\s/.test(rest.charAt(i - 1))) {
            const [whole = "", dash = "", quoted = "", word = ""] = HEREDOC.exec(rest.slice(i, i + MAX_WORD)) ?? [];
            if (whole === "")
                continue;
            found.push({ word, stripTabs: dash === "-", isExpanded: quoted === "" });
            i += whole.length - 1;
        }
    }
    return found;
}
const MAX_WORD = 1000;
/** The list of the exec form; undefined when the text is in shell form. */
export function execForm(text) {
    if (!text.startsWith("["))
        return undefined;
    try {
        const value = JSON.parse(text);
        return Array.isArray(value) && value.every((item) => typeof item === "string") ? value : undefined;
    }
    catch {
        // Docker, too, takes what is no JSON as shell form.
        return undefined;
    }
}
/** Takes the flags from the beginning of what follows an instruction's name. */
export function flagsOf({ rest }) {
    const flags = new Map();
    const mounts = [];
    let text = rest;
    for (;;) {
        const [whole = "", name = "", value = ""] = /^--([a-z-]+)(?:=(\S*))?(?:\s+|$)/.exec(text) ?? [];
        if (whole === "")
            return { flags, mounts, rest: text };
        // The one flag that may be given several times.
        if (name === "mount")
            mounts.push(value);
        flags.set(name, value);
        text = text.slice(whole.length);
    }
}
/** An instruction in one line, as logs show it. */
export const shownText = ({ name, rest }) => `${name} ${rest.replace(/\s+/g, " ")}`.slice(0, MAX_SHOWN);
const MAX_SHOWN = 2000;
/** What is wrong in a Dockerfile, with the line. */
export function invalid(line, name, what) {
    return new InvalidArgumentError(`Dockerfile, line ${line} (${name}): ${what}`, {
        code: "invalid_argument",
        reason: "dockerfile_invalid",
    });
}
export const wrong = ({ line, name }, what) => invalid(line, name, what);
/** What templates cannot do, with the line. */
export function unsupported({ line, name }, what) {
    const options = { code: "invalid_argument", reason: "dockerfile_unsupported" };
    return new InvalidArgumentError(`Dockerfile, line ${line} (${name}): not supported: ${what}`, options);
}
