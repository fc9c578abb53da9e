import { routes } from "@boxyard/spec/platform";
import type { Credentials } from "../../keys/credentials.ts";
import { type Api, mount } from "../route.ts";
import { cancelBuild, getBuildFiles, getBuildLogs, getBuildStatus, startBuild } from "./builds.ts";
import { createTemplate, deleteTemplate, getAlias, updateTemplate } from "./change.ts";
import { exportTemplate, getTriggers, pushTemplate } from "./images.ts";
import { createTemplateV1, rebuildTemplateV1, startBuildV1 } from "./legacy.ts";
import { getTemplate, getTemplateLayers, listDefaultTemplates, listTemplates, listTemplatesV2 } from "./list.ts";
import type { TemplateServices } from "./services.ts";
import { listTagAssignments, listTagGroups } from "./tag-history.ts";
import { assignTags, countTags, listTags, removeTags, tagExists } from "./tags.ts";

/** Paths with a fixed word are mounted before paths with an id in the same place. */
export function mountTemplates(app: Api, services: TemplateServices & { readonly credentials: Credentials }): void {
  mount(app, services, routes.createTemplate, createTemplate);
  mount(app, services, routes.listTemplates, listTemplates);
  mount(app, services, routes.listTemplatesV2, listTemplatesV2);
  mount(app, services, routes.listDefaultTemplates, listDefaultTemplates);
  mount(app, services, routes.getAlias, getAlias);
  mount(app, services, routes.assignTags, assignTags);
  mount(app, services, routes.removeTags, removeTags);
  mount(app, services, routes.tagExists, tagExists);
  mount(app, services, routes.countTags, countTags);
  mount(app, services, routes.listTagGroups, listTagGroups);
  mount(app, services, routes.listTagAssignments, listTagAssignments);
  mount(app, services, routes.listTags, listTags);
  mount(app, services, routes.getBuildFiles, getBuildFiles);
  mount(app, services, routes.startBuild, startBuild);
  mount(app, services, routes.cancelBuild, cancelBuild);
  mount(app, services, routes.getBuildStatus, getBuildStatus);
  mount(app, services, routes.getBuildLogs, getBuildLogs);
  mount(app, services, routes.getTemplate, getTemplate);
  mount(app, services, routes.getTemplateLayers, getTemplateLayers);
  mount(app, services, routes.updateTemplate, updateTemplate);
  mount(app, services, routes.updateTemplateV1, updateTemplate);
  mount(app, services, routes.deleteTemplate, deleteTemplate);
  mount(app, services, routes.pushTemplate, pushTemplate);
  mount(app, services, routes.exportTemplate, exportTemplate);
  mount(app, services, routes.getTriggers, getTriggers);
  mount(app, services, routes.createTemplateV1, createTemplateV1);
  mount(app, services, routes.createTemplateV2, createTemplateV1);
  mount(app, services, routes.rebuildTemplateV1, rebuildTemplateV1);
  mount(app, services, routes.startBuildV1, startBuildV1);
}
