import type { Api } from "../route.ts";
import { mountSessionApi } from "./api.ts";
import { Files, mountPage } from "./page.ts";
import type { DashboardServices } from "./services.ts";
import { mountSession } from "./session.ts";

export type { DashboardServices };

export function mountDashboard(app: Api, services: DashboardServices): void {
  const files = new Files(services.dashboardFiles);
  mountSession(app, services, files);
  mountSessionApi(app, services);
  mountPage(app, services, files);
}
