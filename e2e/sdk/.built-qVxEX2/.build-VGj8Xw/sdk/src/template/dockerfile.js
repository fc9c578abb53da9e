import { InvalidArgumentError } from "../errors.js";
import { copyOrAdd, TEMPLATES } from "./dockerfile-copy.js";
import { execForm, flagsOf, instructionsOf, invalid, unsupported, wrong } from "./dockerfile-lines.js";
import { run } from "./dockerfile-run.js";
import { DockerfileStage } from "./dockerfile-stage.js";
import { literal, splitWords, WordReader } from "./dockerfile-words.js";
/** Says nothing about what is in the template, or nothing that a sandbox could do. */
const WITHOUT_EFFECT = new Set(["EXPOSE", "LABEL", "MAINTAINER", "STOPSIGNAL", "VOLUME", "HEALTHCHECK"]);
const STAGE_NAME = /^[a-z][a-z0-9_.-]*$/;
/**
 * A template from a Dockerfile. Commands run as root in `/` until the file says otherwise; what it leaves unset is set to `user` and
 * `/home/user` at the end. `FROM boxyard/NAME` begins with a template. ENTRYPOINT and CMD become the start command. Only stages that the wanted
 * one needs are built.
 *
 * @throws InvalidArgumentError with reason `dockerfile_unsupported` or `dockerfile_invalid`, naming the line.
 */
export function parseDockerfile(text, input) {
    const { context, ignoreFile, args, target, onNote = () => { } } = input;
    const path = input.file;
    const { instructions, escapeChar } = instructionsOf(text);
    const globals = new Map(platformArgs(args));
    const file = { context, ignoreFile, path, escapeChar, args, globals, onNote };
    const stages = [];
    const known = new Map();
    for (const instruction of instructions) {
        const stage = stages.at(-1);
        if (instruction.name === "FROM") {
            const next = from(file, instruction, stages.length, known);
            stages.push(next);
            known.set(String(stages.length - 1), next).set(next.name, next);
        }
        else if (stage)
            applyOrRefuse(stage, instruction, before(known, stage));
        else if (instruction.name === "ARG")
            globalArg(file, globals, instruction);
        else
            throw wrong(instruction, "FROM must come first");
    }
    const wanted = target === undefined ? stages.at(-1) : known.get(target.toLowerCase());
    if (!wanted)
        throw invalid(1, "FROM", target === undefined ? "there is no FROM" : `there is no stage '${target}'`);
    return partsOf(wanted, known);
}
/** A stage does not see itself. */
function before(known, stage) {
    return new Map([...known].filter(([, other]) => other !== stage));
}
/** What is set in every file before FROM. Sandboxes run on the processor of the server; this program is taken to run on the same kind. */
function platformArgs(args) {
    const arch = process.arch === "x64" ? "amd64" : process.arch;
    const facts = ["TARGET", "BUILD"].flatMap((side) => [
        [`${side}PLATFORM`, `linux/${arch}`],
        [`${side}OS`, "linux"],
        [`${side}ARCH`, arch],
        [`${side}VARIANT`, ""],
    ]);
    return facts.map(([key, value]) => [key, args[key] ?? value]);
}
function globalArg(file, globals, instruction) {
    for (const [key, raw] of argWords(instruction, file.escapeChar)) {
        const value = file.args[key] ?? (raw === undefined ? undefined : readerOf(globals, file.escapeChar).known(raw));
        if (value !== undefined)
            globals.set(key, value);
    }
}
const readerOf = (known, escapeChar) => new WordReader({ known, deferred: new Map() }, escapeChar);
function argWords(instruction, escapeChar) {
    const words = splitWords(instruction.rest, escapeChar);
    if (words.length === 0)
        throw wrong(instruction, "ARG needs a name");
    return words.map((word) => {
        const at = word.indexOf("=");
        const key = at < 0 ? word : word.slice(0, at);
        if (!/^[A-Za-z_]\w*$/.test(key))
            throw wrong(instruction, `'${key}' is no name of a variable`);
        return [key, at < 0 ? undefined : word.slice(at + 1)];
    });
}
function from(file, instruction, index, known) {
    const { flags, rest } = flagsOf(instruction);
    const flag = [...flags.keys()].find((name) => name !== "platform");
    if (flag)
        throw wrong(instruction, `there is no --${flag}`);
    const [word = "", as, name = String(index), ...more] = splitWords(rest, file.escapeChar);
    if (more.length > 0 || (as !== undefined && (as.toUpperCase() !== "AS" || name === String(index)))) {
        throw wrong(instruction, "it is FROM image [AS name]");
    }
    const lower = name.toLowerCase();
    if (as !== undefined && !STAGE_NAME.test(lower))
        throw wrong(instruction, `'${name}' cannot be the name of a stage`);
    if (known.has(lower))
        throw wrong(instruction, `there are two stages '${lower}'`);
    const reader = readerOf(file.globals, file.escapeChar);
    const image = reader.known(word) ?? "";
    if (image === "")
        throw wrong(instruction, `FROM needs an image, and '${word}' is none`);
    const platform = reader.known(flags.get("platform") ?? "");
    const own = file.globals.get("TARGETPLATFORM");
    const parent = /^\d+$/.test(image) ? undefined : known.get(image.toLowerCase());
    const refusal = refusalOf(instruction, image, platform, own);
    return new DockerfileStage(file, { line: instruction.line, name: lower, origin: originOf(image), refusal }, parent);
}
/** Found out only when the stage is needed. */
function refusalOf(instruction, image, platform, own) {
    const refuse = (what) => () => {
        throw unsupported(instruction, what);
    };
    if (image === "scratch")
        return refuse("an empty image: nothing could run in it");
    if (platform && platform !== own)
        return refuse(`images for ${platform}; sandboxes run those for ${own}`);
    return undefined;
}
function originOf(image) {
    return image.startsWith(TEMPLATES) ? { fromTemplate: image.slice(TEMPLATES.length) } : { fromImage: image };
}
const HANDLERS = {
    ARG: argument,
    ENV: environment,
    RUN: run,
    COPY: copyOrAdd,
    ADD: copyOrAdd,
    WORKDIR(stage, instruction) {
        const path = stage.reading(instruction, (reader) => reader.forServer(instruction.rest));
        if (path === "")
            throw wrong(instruction, "WORKDIR needs a path");
        stage.add(instruction, "WORKDIR", [path]);
    },
    USER(stage, instruction) {
        // Commands have the groups that their user is in.
        const name = stage.reading(instruction, (reader) => reader.forServer(instruction.rest.split(":")[0] ?? ""));
        if (name === "")
            throw wrong(instruction, "USER needs a name");
        stage.add(instruction, "USER", [name]);
    },
    CMD(stage, instruction) {
        stage.cmd = commandOf(instruction);
        stage.ownCmd = true;
        stage.commandLine = instruction.line;
    },
    ENTRYPOINT(stage, instruction) {
        stage.entrypoint = commandOf(instruction);
        stage.commandLine = instruction.line;
        // What it inherited was meant for the entry point that it had.
        if (!stage.ownCmd)
            stage.cmd = undefined;
    },
    SHELL(stage, instruction) {
        const argv = execForm(instruction.rest);
        if (!argv || argv.length === 0)
            throw wrong(instruction, 'SHELL needs a list, such as ["/bin/bash", "-o", "pipefail", "-c"]');
        stage.shell = /^((\/usr)?\/bin\/)?(ba)?sh -c$/.test(argv.join(" ")) ? undefined : argv;
    },
    ONBUILD(_stage, instruction) {
        throw unsupported(instruction, "templates have no triggers; write the instruction where it is to be done");
    },
};
/** What cannot be done matters only if the stage is needed. */
function applyOrRefuse(stage, instruction, stages) {
    try {
        apply(stage, instruction, stages);
    }
    catch (error) {
        if (!(error instanceof InvalidArgumentError) || error.reason !== "dockerfile_unsupported")
            throw error;
        stage.refusal ??= () => {
            throw error;
        };
    }
}
function apply(stage, instruction, stages) {
    const { name, rest } = instruction;
    const handler = Object.hasOwn(HANDLERS, name) ? HANDLERS[name] : undefined;
    if (handler)
        handler(stage, instruction, stages);
    else if (!WITHOUT_EFFECT.has(name))
        throw wrong(instruction, "there is no such instruction");
    else if (rest === "")
        throw wrong(instruction, `${name} needs an argument`);
    else
        stage.file.onNote(`line ${instruction.line}: ${name} has no effect on a template`);
}
function commandOf({ rest }) {
    const argv = execForm(rest);
    return argv ? { argv } : { line: rest };
}
function argument(stage, instruction) {
    const { args, globals, escapeChar } = stage.file;
    for (const [key, raw] of argWords(instruction, escapeChar)) {
        const value = args[key] ?? (raw === undefined ? globals.get(key) : undefined);
        if (value !== undefined)
            stage.args.set(key, { text: literal(value), known: value });
        else if (raw !== undefined) {
            stage.args.set(key, stage.reading(instruction, (reader) => ({ text: reader.forServer(raw), known: reader.known(raw) })));
        }
    }
}
function environment(stage, instruction) {
    const words = splitWords(instruction.rest, stage.file.escapeChar);
    const [, key = "", value = ""] = /^(\S+)\s+([\s\S]*)$/.exec(instruction.rest) ?? [];
    if (!words[0]?.includes("=") && key === "")
        throw wrong(instruction, "ENV needs a name and a value");
    const pairs = words[0]?.includes("=")
        ? words.map((word) => [word.slice(0, Math.max(0, word.indexOf("="))), word.slice(word.indexOf("=") + 1)])
        : [[key, value]];
    // All of one instruction see what was set before it.
    const read = stage.reading(instruction, (reader) => pairs.map(([name, raw]) => ({ name, text: reader.forServer(raw), known: reader.known(raw) })));
    for (const { name, known } of read) {
        if (!/^[A-Za-z_]\w*$/.test(name))
            throw wrong(instruction, `'${name}' is no name of a variable`);
        stage.env.delete(name);
        stage.unknown.delete(name);
        if (known === undefined)
            stage.unknown.add(name);
        else
            stage.env.set(name, known);
    }
    stage.add(instruction, "ENV", read.flatMap(({ name, text }) => [name, text]));
}
/** The template of one stage, with the others that it needs, each after what it needs itself. */
function partsOf(wanted, known) {
    const stages = new Map();
    const need = (stage) => {
        stage.refusal?.();
        for (const image of stage.images) {
            const origin = originOf(image);
            if (!stages.has(image))
                stages.set(image, { name: image, origin, steps: [], at: stage.at(stage.line) });
        }
        for (const name of stage.copiesFrom) {
            const other = [...known.values()].find((candidate) => candidate.name === name);
            if (!other || stages.has(name))
                continue;
            need(other);
            stages.set(name, { name, origin: other.origin, steps: other.steps, at: other.at(other.line) });
        }
    };
    need(wanted);
    const at = wanted.at(wanted.line);
    const steps = [...wanted.steps];
    if (!wanted.has("USER"))
        steps.push({ type: "USER", args: ["user"], force: false, at });
    if (!wanted.has("WORKDIR"))
        steps.push({ type: "WORKDIR", args: ["/home/user"], force: false, at });
    return {
        origin: wanted.origin,
        steps,
        stages: [...stages.values()],
        startCmd: wanted.startCommand(),
        force: false,
        at,
        startAt: wanted.commandLine === undefined ? undefined : wanted.at(wanted.commandLine),
    };
}
