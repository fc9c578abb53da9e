import type { ServerConfig } from "../../config.ts";
import type { Observations } from "../../sandboxes/observations.ts";
import type { Triggers } from "../../templates/builds/base/triggers.ts";
import type { Builds } from "../../templates/builds/builds.ts";
import type { Uploads } from "../../templates/builds/uploads.ts";
import type { Catalog } from "../../templates/catalog.ts";
import type { TemplateImages } from "../../templates/images/template-images.ts";
import type { TagHistory } from "../../templates/tag-history.ts";
import type { TemplateLists } from "../../templates/template-lists.ts";
import type { Templates } from "../../templates/templates.ts";
import type { BodyOf, HandlerWith, QueryOf } from "../route.ts";

/** What the handlers of templates, tags and builds use. */
export interface TemplateServices {
  readonly templates: Templates;
  readonly catalog: Catalog;
  readonly builds: Builds;
  readonly uploads: Uploads;
  readonly templateImages: TemplateImages;
  readonly templateLists: TemplateLists;
  readonly triggers: Triggers;
  readonly tagHistory: TagHistory;
  readonly observations: Observations;
  readonly config: ServerConfig;
}

export type Handler<B = undefined, Q = undefined> = HandlerWith<TemplateServices, B, Q>;
export type HandlerOf<R> = Handler<BodyOf<R>, QueryOf<R>>;
