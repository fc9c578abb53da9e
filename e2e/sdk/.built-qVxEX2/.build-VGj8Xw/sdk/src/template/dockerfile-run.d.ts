import { type Instruction } from "./dockerfile-lines.ts";
import type { DockerfileStage } from "./dockerfile-stage.ts";
export declare function run(stage: DockerfileStage, instruction: Instruction): void;
