import { useEffect, useState } from "preact/hooks";
import { wordsOf } from "../lib/api-error.ts";
import { go, hrefOf } from "../lib/router.ts";
import { signIn } from "../lib/session.ts";
import { applyTheme } from "../lib/theme.ts";
import { Logo } from "../shell.tsx";
import { Button } from "../ui/button.tsx";
import { Snippet } from "../ui/copy.tsx";
import { Field } from "../ui/field.tsx";

/** Takes the secret of a link out of the address, so that it is neither kept in the history nor shown. */
function takeLink(): string | undefined {
  if (!location.pathname.endsWith("/sign-in") || location.hash.length < 2) return undefined;
  const link = location.hash.slice(1);
  history.replaceState(null, "", hrefOf("/sign-in"));
  return link;
}

export function SignInPage({ onSignedIn }: { onSignedIn: () => Promise<void> }) {
  const [key, setKey] = useState("");
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const enter = async (by: Parameters<typeof signIn>[0]) => {
    setBusy(true);
    setProblem("");
    try {
      await signIn(by);
      await onSignedIn();
      if (location.pathname.endsWith("/sign-in")) go("/", { replace: true });
    } catch (error) {
      setProblem(wordsOf(error));
      setBusy(false);
    }
  };
  useEffect(() => {
    applyTheme();
    document.title = "Sign in · Boxyard";
    const link = takeLink();
    if (link !== undefined) void enter({ link });
  }, []);
  const submit = (event: Event) => {
    event.preventDefault();
    void enter({ apiKey: key.trim() });
    setKey("");
  };
  return (
    <main class="sign-in">
      <div class="sign-in-card">
        <div class="sign-in-logo">
          <Logo />
        </div>
        <h1>Sign in to Boxyard</h1>
        <p class="muted">With an API key of this server. It is used once and not kept in the browser.</p>
        <form onSubmit={submit}>
          <Field label="API key" type="password" placeholder="e2b_…" value={key} onInput={setKey} autoFocus mono />
          {problem !== "" && (
            <p class="problem" role="alert">
              {problem}
            </p>
          )}
          <Button kind="primary" type="submit" disabled={key.trim() === "" || isBusy}>
            {isBusy ? "Signing in…" : "Sign in"}
          </Button>
        </form>
        <div class="sign-in-hint">
          <p>Or, on the machine of the server, open a page that is signed in already:</p>
          <Snippet text="./boxyard dashboard" label="command" />
        </div>
      </div>
    </main>
  );
}
