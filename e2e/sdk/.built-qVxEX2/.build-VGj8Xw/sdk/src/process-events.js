import { BoxyardError } from "./errors.js";
/** Reads the first message of a Start or Connect stream, which must be `start`, and hands on the rest. */
export async function openProcess(stream) {
    const iterator = stream[Symbol.asyncIterator]();
    for (;;) {
        const first = await iterator.next();
        const event = first.done ? undefined : first.value.event?.event;
        if (event?.case === "keepalive")
            continue;
        if (event?.case !== "start") {
            throw new BoxyardError("the agent did not say which process this is", { code: "internal", reason: "protocol_error" });
        }
        return { pid: event.value.pid, messages: messages(iterator) };
    }
}
/**
 * Lets the transport notice that its call was aborted while nobody was reading: only then does it let go of the connection and of the timer
 * that bounds the call.
 */
export function letGo(iterator) {
    iterator.next().catch(() => { });
}
async function* messages(iterator) {
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
        const event = next.value.event?.event;
        if (event?.case === "data" && event.value.output.case !== undefined) {
            yield { output: { stream: event.value.output.case, data: event.value.output.value } };
        }
        else if (event?.case === "end") {
            const { exitCode, exited, status, error } = event.value;
            yield { end: { exitCode, exited, status, error: error || undefined } };
        }
    }
}
