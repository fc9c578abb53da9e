import { join } from "node:path";
import type { Cluster } from "./cluster.ts";

/** The socket, in the directory of a cluster, at which a test asks for faults: `POST /NAME/SIGNAL` to a component, `POST /NAME/start`. */
const SOCKET = "faults.sock";
const SIGNALS = ["SIGKILL", "SIGSTOP", "SIGCONT"] as const;

const isSignal = (word: string): word is (typeof SIGNALS)[number] => (SIGNALS as readonly string[]).includes(word);

/** Takes orders for faults of a cluster's components until it is stopped. */
export function serveFaults(directory: string, cluster: Pick<Cluster, "signal" | "startAgain">): Disposable {
  const server = Bun.serve({
    unix: join(directory, SOCKET),
    fetch: async (request) => {
      const [, name = "", what = ""] = new URL(request.url).pathname.split("/");
      try {
        if (what === "start") cluster.startAgain(name);
        else if (isSignal(what)) await cluster.signal(name, what);
        else return new Response("no such fault", { status: 404 });
        return new Response();
      } catch (error) {
        return new Response(String(error), { status: 500 });
      }
    },
  });
  return { [Symbol.dispose]: () => void server.stop(true) };
}

/** Sends a signal to a component of the cluster of `./boxyard test kubernetes`, or starts it again after SIGKILL. SIGKILL resolves when the component has ended. */
export async function fault(directory: string, component: string, what: (typeof SIGNALS)[number] | "start"): Promise<void> {
  const answer = await fetch(`http://cluster/${component}/${what}`, { method: "POST", unix: join(directory, SOCKET) });
  if (!answer.ok) throw new Error(`${component} ${what}: ${await answer.text()}`);
}
