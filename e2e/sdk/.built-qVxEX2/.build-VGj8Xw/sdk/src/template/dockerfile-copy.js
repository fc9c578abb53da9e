import { posix } from "node:path";
import { execForm, flagsOf, shownText, unsupported, wrong } from "./dockerfile-lines.js";
import { splitWords } from "./dockerfile-words.js";
import { shellWord } from "./steps.js";
/** Names that begin so are templates of the server, not images of a registry. */
export const TEMPLATES = "boxyard/";
const FLAGS = {
    COPY: ["chown", "chmod", "from", "link"],
    ADD: ["chown", "chmod", "link"],
};
const URLS = /^(https?|ftp|ssh|git):\/\/|^git@/;
/** COPY and ADD. `stages`: those before this one, by name and number. */
export function copyOrAdd(stage, instruction, stages) {
    const { flags, rest } = flagsOf(instruction);
    const unknown = [...flags.keys()].find((flag) => !FLAGS[instruction.name]?.includes(flag));
    if (unknown)
        throw unsupported(instruction, `${instruction.name} --${unknown}`);
    const { escapeChar } = stage.file;
    const words = execForm(rest) ?? splitWords(rest, escapeChar);
    const raw = words.pop();
    if (raw === undefined || words.length === 0)
        throw wrong(instruction, `${instruction.name} needs a source and a destination`);
    const { destination, chown, chmod, from } = stage.reading(instruction, (reader) => ({
        destination: reader.forServer(raw),
        chown: reader.forServer(flags.get("chown") ?? ""),
        chmod: reader.here(flags.get("chmod") ?? ""),
        from: flags.has("from") ? reader.here(flags.get("from") ?? "") : undefined,
    }));
    if (chmod !== "" && !/^[0-7]{1,4}$/.test(chmod))
        throw unsupported(instruction, `--chmod=${chmod}; write the mode in octal digits, such as 755`);
    const target = { destination, chown, chmod };
    const texts = words.flatMap((word) => instruction.heredocs.find((heredoc) => isStartOf(word, heredoc)) ?? []);
    const sources = stage.reading(instruction, (reader) => words.filter((word) => !/^<</.test(word)).map((word) => reader.here(word)));
    const many = texts.length + sources.length > 1;
    if (many && !destination.endsWith("/"))
        throw wrong(instruction, `with several sources the destination must end with '/', not be ${destination}`);
    const url = sources.find((source) => URLS.test(source));
    if (url)
        throw unsupported(instruction, `${instruction.name} of ${url}; use RUN with curl or git`);
    if (from !== undefined && texts.length > 0)
        throw wrong(instruction, "a here-document is not in another stage");
    if (sources.length > 0)
        addSources(stage, instruction, sources, target, from, stages);
    for (const text of texts)
        addText(stage, instruction, text, target);
}
const isStartOf = (word, heredoc) => word.replace(/^<<-?/, "").replace(/^(["'])(.*)\1$/, "$2") === heredoc.word && word.startsWith("<<");
function addSources(stage, instruction, sources, { destination, chown, chmod }, from, stages) {
    const args = [sources.join(" "), destination, chown, chmod];
    const text = shownText(instruction);
    if (from === undefined) {
        const { context, ignoreFile } = stage.file;
        const copy = { context, sources, isAdd: instruction.name === "ADD", ignoreFile };
        stage.add(instruction, instruction.name === "ADD" ? "ADD" : "COPY", args, { text, copy });
        return;
    }
    const patterns = sources.map((path) => ({ path: posix.normalize(`/${path}`) }));
    const origin = originOf(stage, instruction, from, stages);
    stage.add(instruction, "COPY", args, { text, sources: patterns, ...origin });
}
/** What `--from` means: a stage before this one by name or number, a template, or an image. */
function originOf(stage, instruction, from, stages) {
    if (from === "")
        throw wrong(instruction, "--from needs a stage or an image");
    const found = stages.get(from.toLowerCase());
    if (found) {
        stage.copiesFrom.add(found.name);
        return { fromStage: found.name };
    }
    if (/^\d+$/.test(from))
        throw wrong(instruction, `there is no stage ${from} before this one`);
    if (from.toLowerCase() === stage.name)
        throw wrong(instruction, "a stage cannot copy from itself");
    if (from.startsWith(TEMPLATES))
        return { from: from.slice(TEMPLATES.length) };
    stage.images.add(from);
    return { fromStage: from };
}
/** A file of the Dockerfile's own: root writes it. */
function addText(stage, instruction, heredoc, { destination, chown, chmod }) {
    const text = heredoc.isExpanded ? stage.reading(instruction, (reader) => reader.inText(heredoc.text)) : heredoc.text;
    const into = destination.endsWith("/") ? destination + heredoc.word : destination;
    const lines = [
        "set -e",
        "f=$BOXYARD_TO",
        `[ ! -d "$f" ] || f=$f/${shellWord(heredoc.word)}`,
        'mkdir -p -- "$(dirname -- "$f")"',
        'rm -f -- "$f"',
        `printf %s ${shellWord(text)} > "$f"`,
        `chmod ${chmod || "644"} -- "$f"`,
        ...(chown === ""
            ? []
            : [
                "case $BOXYARD_OWNER in *:*) o=$BOXYARD_OWNER ;; *[!0-9]*) o=$BOXYARD_OWNER: ;; *) o=$BOXYARD_OWNER ;; esac",
                'chown -- "$o" "$f"',
            ]),
    ];
    const env = { BOXYARD_TO: into, ...(chown === "" ? {} : { BOXYARD_OWNER: chown }) };
    stage.add(instruction, "RUN", [lines.join("\n"), "root"], { text: shownText(instruction), env });
}
