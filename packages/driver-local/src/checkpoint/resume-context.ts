import type { CreateContext } from "../sandbox.ts";
import type { GenerationFile } from "./generation.ts";
import type { Standing } from "./wake-cache.ts";

/** What the steps of a resume hand from one to the next. */
export interface ResumeContext extends CreateContext {
  readonly generation: GenerationFile;
  /** Of the incarnation that was paused. */
  readonly oldAddress: string;
  /** For a wake: its processes, as the pause left them. */
  readonly standing?: Standing;
}
