"""Limits of the code service. If the user's code fills the memory or the disk, the service must still be able to report it."""

PORT = 49999
DEFAULT_CWD = "/home/user"

MAX_BODY_BYTES = 32 * 2**20
MAX_CONTEXTS = 64
# Cells that wait for one context, the running one included.
MAX_QUEUED = 100
# Output that the client has not yet read; a cell with more is interrupted.
MAX_PENDING_BYTES = 64 * 2**20
# Standard output and standard error are split into lines of at most this many characters.
STREAM_PIECE = 256 * 1024
# A larger result is replaced by an error, because a result is one line and cannot be split.
MAX_RESULT_BYTES = 48 * 2**20

KEEPALIVE_S = 5
START_LIMIT_S = 60
# How long a request for health waits for the kernel before the answer is 503.
HEALTH_WAIT_S = 5
# How long an interrupted cell may take to end before its kernel is restarted.
INTERRUPT_LIMIT_S = 5
# How long a request of the service itself may take (variables, a fence).
QUIET_LIMIT_S = 10
# How long the service waits for the first output of a kernel that answers before it asks the kernel again.
HEARD_S = 0.1
# After the kernel's answer, how long the service waits for the next output message before it ends the cell.
LATE_OUTPUT_S = 30
# A kernel that died this many times, each within QUICK_DEATH_S of its start, is started again only when a cell needs it.
MAX_QUICK_DEATHS = 3
QUICK_DEATH_S = 5
