import { useState } from "preact/hooks";
import { keys } from "../../lib/api.ts";
import type { SessionInfo } from "../../lib/session.ts";
import { Button } from "../../ui/button.tsx";
import { Snippet } from "../../ui/copy.tsx";
import { Card } from "../../ui/page.tsx";

const DAY_MS = 86_400_000;

/** Nothing is there yet: what to do next, with text that works as it stands when it is pasted into a terminal. */
export function FirstSteps({ session }: { session: SessionInfo }) {
  const [key, setKey] = useState<string | undefined>(undefined);
  const make = async () => {
    const wish = { name: "first steps", scopes: ["sandboxes"] as const, expiresAt: new Date(Date.now() + DAY_MS).toISOString() };
    setKey((await keys.create(wish)).key);
  };
  return (
    <Card title="Your first sandbox">
      <div class="steps">
        <div>
          <h3>From a terminal on the server's machine</h3>
          <Snippet label="command" text="./boxyard run -- python3 -c 'print(6*7)'" />
        </div>
        <div>
          <h3>From a program, on any machine with Node</h3>
          {key === undefined ? (
            <div class="next-step">
              <Button icon="key" onPress={make}>
                Make a key and show the program
              </Button>
              <p class="hint">The key may use sandboxes, and ends in a day.</p>
            </div>
          ) : (
            <>
              <Snippet label="program" text={programOf(session.url, key)} />
              <p class="hint">Paste it into a terminal. It holds the new key, which is shown this one time.</p>
            </>
          )}
        </div>
      </div>
    </Card>
  );
}

const programOf = (url: string, key: string) => `mkdir -p hello && cd hello && npm init -y >/dev/null && npm install ${url}/sdk/npm.tgz
cat > hello.mjs <<'END'
import { Sandbox } from "@boxyard/sdk";

const sandbox = await Sandbox.create();
console.log((await sandbox.commands.run("uname -a")).stdout);
await sandbox.kill();
END
BOXYARD_API_URL=${url} BOXYARD_API_KEY=${key} node hello.mjs`;
