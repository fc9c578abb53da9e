import type { TemplateParts } from "./steps.ts";
export interface DockerfileInput {
    readonly context: string;
    readonly ignoreFile: string;
    readonly args: Readonly<Record<string, string>>;
    /** Stage to build, by name or number; the last one by default. */
    readonly target?: string | undefined;
    /** Path of the file, for people. */
    readonly file?: string | undefined;
    readonly onNote?: ((text: string) => void) | undefined;
}
/**
 * A template from a Dockerfile. Commands run as root in `/` until the file says otherwise; what it leaves unset is set to `user` and
 * `/home/user` at the end. `FROM boxyard/NAME` begins with a template. ENTRYPOINT and CMD become the start command. Only stages that the wanted
 * one needs are built.
 *
 * @throws InvalidArgumentError with reason `dockerfile_unsupported` or `dockerfile_invalid`, naming the line.
 */
export declare function parseDockerfile(text: string, input: DockerfileInput): TemplateParts;
