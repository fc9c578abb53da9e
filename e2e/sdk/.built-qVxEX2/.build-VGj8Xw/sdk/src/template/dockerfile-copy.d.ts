import { type Instruction } from "./dockerfile-lines.ts";
import type { DockerfileStage } from "./dockerfile-stage.ts";
/** Names that begin so are templates of the server, not images of a registry. */
export declare const TEMPLATES = "boxyard/";
/** COPY and ADD. `stages`: those before this one, by name and number. */
export declare function copyOrAdd(stage: DockerfileStage, instruction: Instruction, stages: ReadonlyMap<string, DockerfileStage>): void;
