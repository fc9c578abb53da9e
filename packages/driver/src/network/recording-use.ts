/** What a sandbox does with a recording of exchanges by HTTP. TLS is opened for every host while it does. */
export interface RecordingUse {
  /** Name of the recording's directory. */
  readonly id: string;
  readonly mode: "record" | "replay";
  /** Replay: what the recording does not have is passed on as the rest of the policy allows; else it is refused, and nothing leaves the sandbox. */
  readonly passes?: boolean;
  /** Replay: something is missing in the recording, which refusals say. */
  readonly isIncomplete?: boolean;
  /** Bounds of the recording. */
  readonly maxBytes: number;
  readonly maxExchanges: number;
}

/** Of a recording that is not there: everything is a miss. */
const NO_RECORDING = "none";

/** Names of directories, from the server: nothing that leads to another place. */
const isRecordingId = (id: string): boolean => id === NO_RECORDING || /^[0-9a-f]{32}$/.test(id);

export const isRecordingUse = ({ id, maxBytes, maxExchanges }: RecordingUse): boolean =>
  isRecordingId(id) && maxBytes > 0 && maxExchanges > 0;

/** For a sandbox whose recording is gone: nothing is answered, and nothing leaves it. */
export const CLOSED_RECORDING: RecordingUse = { id: NO_RECORDING, mode: "replay", maxBytes: 1, maxExchanges: 1 };
