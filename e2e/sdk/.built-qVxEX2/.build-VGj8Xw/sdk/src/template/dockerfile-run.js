import { execForm, flagsOf, shownText, unsupported, wrong } from "./dockerfile-lines.js";
import { literal } from "./dockerfile-words.js";
import { shellWord } from "./steps.js";
/** May be given without being declared. */
const PREDEFINED = ["http_proxy", "https_proxy", "ftp_proxy", "no_proxy", "all_proxy"].flatMap((name) => [name, name.toUpperCase()]);
export function run(stage, instruction) {
    const { flags, mounts, rest } = flagsOf(instruction);
    const refused = [...flags].find(([flag, value]) => flag !== "mount" && (flag !== "network" || value !== "default"));
    if (refused)
        throw unsupported(instruction, `RUN --${refused[0]}=${refused[1]}`);
    const secrets = mounts.map((mount) => secretOf(stage, instruction, mount));
    const env = { ...givenProxies(stage.file.args), ...Object.fromEntries([...stage.args].map(([key, { text }]) => [key, text])) };
    const command = commandLine(stage, instruction, rest);
    const text = command === instruction.rest ? {} : { text: shownText(instruction) };
    stage.add(instruction, "RUN", [command], {
        ...text,
        ...(Object.keys(env).length > 0 ? { env } : {}),
        ...(secrets.length > 0 ? { secrets } : {}),
    });
}
function commandLine(stage, instruction, rest) {
    const { heredocs } = instruction;
    const [heredoc] = heredocs;
    const argv = execForm(rest);
    if (argv)
        return argv.map(shellWord).join(" ");
    // A script as a whole, which may name its own interpreter, or input of a command: the shell reads it from the same words.
    if (heredoc && heredocs.length === 1 && /^<<-?["']?[^\s"']+["']?$/.test(rest)) {
        return heredoc.text.startsWith("#!") ? ownInterpreter(heredoc.text) : stage.shellLine(heredoc.text);
    }
    if (heredoc)
        return stage.shellLine([rest, ...heredocs.map(({ text, word }) => `${text}${word}`)].join("\n"));
    if (rest === "")
        throw wrong(instruction, "RUN needs a command");
    return stage.shellLine(rest);
}
/** Runs a script as a file, and leaves none behind. */
function ownInterpreter(script) {
    return `f=$(mktemp) && printf %s ${shellWord(script)} > "$f" && chmod 755 "$f" && { "$f"; s=$?; rm -f "$f"; exit $s; }`;
}
function givenProxies(args) {
    return Object.fromEntries(PREDEFINED.flatMap((name) => (args[name] === undefined ? [] : [[name, literal(args[name] ?? "")]])));
}
const YES = new Set(["", "true", "1"]);
/** `--mount=type=secret,id=…`; no other kind of mount is there. */
function secretOf(stage, instruction, text) {
    const options = new Map(text.split(",").map((part) => {
        const at = part.indexOf("=");
        return at < 0 ? [part, ""] : [part.slice(0, at), part.slice(at + 1)];
    }));
    const kind = options.get("type") ?? "bind";
    if (kind !== "secret")
        throw unsupported(instruction, `RUN --mount=${text}; leave it out, most commands do without`);
    const known = new Set(["type", "id", "target", "dst", "destination", "env", "required", "mode"]);
    const unknown = [...options.keys()].find((name) => !known.has(name));
    if (unknown !== undefined)
        throw unsupported(instruction, `'${unknown}' of a secret`);
    const value = (name) => stage.reading(instruction, (reader) => reader.here(options.get(name) ?? "")) || undefined;
    const target = value("target") ?? value("dst") ?? value("destination");
    const id = value("id") ?? target?.split("/").at(-1) ?? value("env");
    if (!id || !/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/.test(id))
        throw wrong(instruction, "a secret needs an id of letters, digits and _ . -");
    const required = options.has("required") && YES.has(options.get("required") ?? "");
    return { id, target, env: value("env"), mode: value("mode"), required };
}
