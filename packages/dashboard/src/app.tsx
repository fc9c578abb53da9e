import { useEffect, useState } from "preact/hooks";
import { forgetAll } from "./lib/resource.ts";
import { go, usePlace } from "./lib/router.ts";
import { currentSession, onSessionEnd, type SessionInfo } from "./lib/session.ts";
import { EventsPage } from "./pages/events/events-page.tsx";
import { KeysPage } from "./pages/keys.tsx";
import { OverviewPage } from "./pages/overview/overview-page.tsx";
import { SandboxPage } from "./pages/sandbox/sandbox-page.tsx";
import { SandboxesPage } from "./pages/sandboxes/sandboxes-page.tsx";
import { SecretsPage } from "./pages/secrets.tsx";
import { SettingsPage } from "./pages/settings.tsx";
import { SignInPage } from "./pages/sign-in.tsx";
import { SnapshotsPage } from "./pages/snapshots.tsx";
import { TeamPage } from "./pages/team.tsx";
import { BuildPage } from "./pages/templates/build-page.tsx";
import { TemplatePage } from "./pages/templates/template-page.tsx";
import { TemplatesPage } from "./pages/templates/templates-page.tsx";
import { VolumePage } from "./pages/volumes/volume-page.tsx";
import { VolumesPage } from "./pages/volumes/volumes-page.tsx";
import { WebhookPage } from "./pages/webhooks/webhook-page.tsx";
import { WebhooksPage } from "./pages/webhooks/webhooks-page.tsx";
import { Shell } from "./shell.tsx";
import { Empty } from "./ui/state.tsx";
import { failed, Toasts } from "./ui/toasts.tsx";

/** `undefined`: the server has not said yet who is signed in; `null`: nobody. */
type Session = SessionInfo | null | undefined;

export function App() {
  const [session, setSession] = useState<Session>(undefined);
  const find = async () => setSession((await currentSession()) ?? null);
  useEffect(() => {
    // A link of `boxyard dashboard` signs in anew, also where somebody is signed in.
    if (location.hash === "" || !location.pathname.endsWith("/sign-in")) {
      find().catch((error: unknown) => {
        failed(error);
        setSession(null);
      });
    } else setSession(null);
    return onSessionEnd(() => {
      forgetAll();
      setSession(null);
    });
  }, []);
  return (
    <>
      {session === null && <SignInPage onSignedIn={find} />}
      {session && (
        <Shell session={session}>
          <Current session={session} />
        </Shell>
      )}
      <Toasts />
    </>
  );
}

/** The page of the present address. */
function Current({ session }: { session: SessionInfo }) {
  const [area = "", name, ...rest] = usePlace();
  useEffect(() => {
    if (area === "sign-in") go("/", { replace: true });
  }, [area]);
  switch (area) {
    case "":
    case "sign-in":
      return <OverviewPage session={session} />;
    case "sandboxes":
      return name === undefined ? <SandboxesPage /> : <SandboxPage key={name} id={name} tab={rest[0] ?? "terminal"} session={session} />;
    case "templates":
      if (name === undefined) return <TemplatesPage />;
      return rest[0] === "builds" ? <BuildPage template={name} build={rest[1] ?? ""} /> : <TemplatePage key={name} id={name} />;
    case "snapshots":
      return <SnapshotsPage />;
    case "volumes":
      return name === undefined ? <VolumesPage /> : <VolumePage key={name} id={name} />;
    case "secrets":
      return <SecretsPage />;
    case "events":
      return <EventsPage />;
    case "webhooks":
      return name === undefined ? <WebhooksPage /> : <WebhookPage key={name} id={name} />;
    case "keys":
      return <KeysPage own={session.key.id} />;
    case "team":
      return <TeamPage />;
    case "settings":
      return <SettingsPage session={session} />;
    default:
      return (
        <Empty icon="search" title="There is no such page">
          <p>The address may have a typing error.</p>
        </Empty>
      );
  }
}
