import { wrong } from "./dockerfile-lines.js";
import { WordError, WordReader } from "./dockerfile-words.js";
import { shellWord } from "./steps.js";
/** A stage of a Dockerfile as far as it has been read. */
export class DockerfileStage {
    file;
    /** Of FROM. */
    line;
    /** By which COPY --from and FROM know it; its number else. */
    name;
    origin;
    /** Why it cannot be built; told when it is needed. */
    refusal;
    steps = [];
    /** What COPY takes files out of: names of other stages, and images. */
    copiesFrom = new Set();
    images = new Set();
    /** ARG in scope: the value as the server is to read it, and as it is known here. */
    args = new Map();
    /** ENV whose value is known here. */
    env = new Map();
    /** ENV whose value only the server will know. */
    unknown = new Set();
    /** Of RUN, CMD and ENTRYPOINT in shell form; undefined: the usual one. */
    shell;
    entrypoint;
    cmd;
    /** Whether CMD is this stage's own. */
    ownCmd = false;
    commandLine;
    constructor(file, from, parent) {
        this.file = file;
        this.line = from.line;
        this.name = from.name;
        this.origin = parent?.origin ?? from.origin;
        this.refusal = parent?.refusal ?? from.refusal;
        if (!parent) {
            // Whoever builds begins as root, as in builders of images.
            this.add({ line: from.line }, "USER", ["root"]);
            this.add({ line: from.line }, "WORKDIR", ["/"]);
            return;
        }
        this.steps.push(...parent.steps);
        for (const name of parent.copiesFrom)
            this.copiesFrom.add(name);
        for (const image of parent.images)
            this.images.add(image);
        for (const [key, value] of parent.args)
            this.args.set(key, value);
        for (const [key, value] of parent.env)
            this.env.set(key, value);
        for (const key of parent.unknown)
            this.unknown.add(key);
        this.shell = parent.shell;
        this.entrypoint = parent.entrypoint;
        this.cmd = parent.cmd;
        this.commandLine = parent.commandLine;
    }
    add({ line }, type, args, more = {}) {
        this.steps.push({ type, args, force: false, ...more, at: this.at(line) });
    }
    at(line) {
        return { file: this.file.path, line };
    }
    has(type) {
        return this.steps.slice(2).some((step) => step.type === type);
    }
    /** Reads words with the variables of the moment; what is wrong with them is told with the instruction's line. */
    reading(instruction, read) {
        const known = new Map();
        const deferred = new Map();
        for (const [name, value] of this.args) {
            if (this.unknown.has(name))
                continue;
            if (value.known === undefined)
                deferred.set(name, value.text);
            else
                known.set(name, value.known);
        }
        for (const [name, value] of this.env) {
            known.set(name, value);
            deferred.delete(name);
        }
        try {
            return read(new WordReader({ known, deferred }, this.file.escapeChar));
        }
        catch (error) {
            if (error instanceof WordError)
                throw wrong(instruction, error.message);
            throw error;
        }
    }
    /** A command in shell form, as the one line that the server's shell gets. */
    shellLine(line) {
        return this.shell ? [...this.shell, line].map(shellWord).join(" ") : line;
    }
    /** ENTRYPOINT and CMD together, as one line for a shell. */
    startCommand() {
        const { entrypoint, cmd } = this;
        if (entrypoint && "line" in entrypoint)
            return this.shellLine(entrypoint.line);
        if (!entrypoint || entrypoint.argv.length === 0) {
            if (!cmd)
                return undefined;
            return "line" in cmd ? this.shellLine(cmd.line) : cmd.argv.map(shellWord).join(" ") || undefined;
        }
        const rest = !cmd ? [] : "line" in cmd ? [...(this.shell ?? ["/bin/sh", "-c"]), cmd.line] : cmd.argv;
        return [...entrypoint.argv, ...rest].map(shellWord).join(" ");
    }
}
