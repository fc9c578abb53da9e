import type { ServerConfig } from "../../config.ts";
import type { NetworkLog } from "../../network-log/network-log.ts";
import type { NamedSandboxes } from "../../sandboxes/names/named-sandboxes.ts";
import type { Observations } from "../../sandboxes/observations.ts";
import type { PortUrls } from "../../sandboxes/port-urls.ts";
import type { Resizing } from "../../sandboxes/resources/resizing.ts";
import type { SandboxService } from "../../sandboxes/service.ts";
import type { ForkService } from "../../sandboxes/snapshots/fork-service.ts";
import type { RollbackService } from "../../sandboxes/snapshots/rollback-service.ts";
import type { SnapshotService } from "../../sandboxes/snapshots/snapshot-service.ts";
import type { Tokens } from "../../sandboxes/tokens.ts";
import type { BodyOf, HandlerWith, QueryOf } from "../route.ts";

/** What the handlers of sandboxes use. */
export interface SandboxServices {
  readonly sandboxes: SandboxService;
  readonly named: NamedSandboxes;
  readonly resizing: Resizing;
  readonly portUrls: PortUrls;
  readonly networkLog: NetworkLog;
  readonly observations: Observations;
  readonly snapshots: SnapshotService;
  readonly forks: ForkService;
  readonly rollbacks: RollbackService;
  readonly tokens: Tokens;
  readonly config: Pick<ServerConfig, "domain" | "publicUrl">;
}

export type Handler<B = undefined, Q = undefined> = HandlerWith<SandboxServices, B, Q>;
export type HandlerOf<R> = Handler<BodyOf<R>, QueryOf<R>>;
