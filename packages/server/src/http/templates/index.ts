import { routes } from "@boxyard/spec/platform";
import type { ServerContext } from "../../context.ts";
import { type Api, mount } from "../route.ts";
import { cancelBuild, getBuildFiles, getBuildLogs, getBuildStatus, startBuild } from "./builds.ts";
import { deleteTemplate, getAlias, updateTemplate } from "./change.ts";
import { createTemplate } from "./create.ts";
import { exportTemplate, pushTemplate } from "./images.ts";
import { getTemplate, listDefaultTemplates, listTemplates, listTemplatesV2 } from "./list.ts";
import { listTagAssignments, listTagGroups } from "./tag-history.ts";
import { assignTags, countTags, listTags, removeTags, tagExists } from "./tags.ts";

/** Paths with words of their own come before those with an id in the same place. */
export function mountTemplates(app: Api, context: ServerContext): void {
  mount(app, context, routes.createTemplate, createTemplate);
  mount(app, context, routes.listTemplates, listTemplates);
  mount(app, context, routes.listTemplatesV2, listTemplatesV2);
  mount(app, context, routes.listDefaultTemplates, listDefaultTemplates);
  mount(app, context, routes.getAlias, getAlias);
  mount(app, context, routes.assignTags, assignTags);
  mount(app, context, routes.removeTags, removeTags);
  mount(app, context, routes.tagExists, tagExists);
  mount(app, context, routes.countTags, countTags);
  mount(app, context, routes.listTagGroups, listTagGroups);
  mount(app, context, routes.listTagAssignments, listTagAssignments);
  mount(app, context, routes.listTags, listTags);
  mount(app, context, routes.getBuildFiles, getBuildFiles);
  mount(app, context, routes.startBuild, startBuild);
  mount(app, context, routes.cancelBuild, cancelBuild);
  mount(app, context, routes.getBuildStatus, getBuildStatus);
  mount(app, context, routes.getBuildLogs, getBuildLogs);
  mount(app, context, routes.getTemplate, getTemplate);
  mount(app, context, routes.updateTemplate, updateTemplate);
  mount(app, context, routes.updateTemplateV1, updateTemplate);
  mount(app, context, routes.deleteTemplate, deleteTemplate);
  mount(app, context, routes.pushTemplate, pushTemplate);
  mount(app, context, routes.exportTemplate, exportTemplate);
}
