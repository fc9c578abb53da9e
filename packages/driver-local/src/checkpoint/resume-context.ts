import type { GenerationFile } from "../checkpoint-store/generation.ts";
import type { FrozenSandbox } from "../checkpoint-store/wake-cache.ts";
import type { CreateContext } from "../sandbox/parts.ts";

/** What the steps of a resume share. */
export interface ResumeContext extends CreateContext {
  readonly generation: GenerationFile;
  /** Address of the incarnation that was paused. */
  readonly oldAddress: string;
  /** For a wake: the sandbox's processes, as the pause left them. */
  readonly frozen?: FrozenSandbox;
}
