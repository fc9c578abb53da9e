"""Bounds of the code service. The user's code may fill the sandbox; the service itself must stay able to say so."""

PORT = 49999
DEFAULT_CWD = "/home/user"

MAX_BODY_BYTES = 32 * 2**20
MAX_CONTEXTS = 64
# Cells that wait for one context, the running one included.
MAX_QUEUED = 100
# Output that the client has not yet taken; a cell that makes more is interrupted.
MAX_PENDING_BYTES = 64 * 2**20
# One line of standard output or error is cut into pieces of this many characters.
STREAM_PIECE = 256 * 1024
# A result with more is replaced by an error, because no line can be cut in two.
MAX_RESULT_BYTES = 48 * 2**20

KEEPALIVE_S = 5
START_LIMIT_S = 60
# How long a question for health may wait until the answer is no.
HEALTH_WAIT_S = 5
# How long an interrupted cell may take until its kernel is restarted instead.
INTERRUPT_LIMIT_S = 5
# How long the kernel's own housekeeping (variables, a fence) may take.
QUIET_LIMIT_S = 10
# How long the output of a kernel that answers may take to be heard for the first time, until it is asked again.
HEARD_S = 0.1
# After an answer, how long the rest of its output may be silent until it is given up.
LATE_OUTPUT_S = 30
# A kernel that keeps dying at its start is left alone until somebody asks for it.
MAX_QUICK_DEATHS = 3
QUICK_DEATH_S = 5
