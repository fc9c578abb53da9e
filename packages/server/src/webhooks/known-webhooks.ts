import type { TeamId } from "@boxyard/core";
import type { Store, WebhookRecord } from "../store/index.ts";

/** The enabled webhooks of each team, read once and again after each change: most events are of teams without one. */
export class KnownWebhooks {
  private readonly store: Pick<Store, "webhooks">;
  private byTeam: Promise<ReadonlyMap<TeamId, readonly WebhookRecord[]>> | undefined;

  constructor(store: Pick<Store, "webhooks">) {
    this.store = store;
  }

  /** To be called after each change of a webhook. */
  forget(): void {
    this.byTeam = undefined;
  }

  async of(teamId: TeamId): Promise<readonly WebhookRecord[]> {
    this.byTeam ??= this.read();
    try {
      return (await this.byTeam).get(teamId) ?? [];
    } catch (error) {
      this.byTeam = undefined;
      throw error;
    }
  }

  private async read(): Promise<ReadonlyMap<TeamId, readonly WebhookRecord[]>> {
    return Map.groupBy(
      (await this.store.webhooks.list()).filter(({ enabled }) => enabled),
      ({ teamId }) => teamId,
    );
  }
}
