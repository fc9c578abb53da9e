/* What the parts of launch share. launch.c describes the protocol. */
#ifndef LAUNCH_H
#define LAUNCH_H

#include <stddef.h>
#include <sys/types.h>

enum { STDIO = 3, MAX_GROUPS = 1024 };

/* One command to start. Its texts lie in the bytes that it was read from. */
struct order {
  const char *id, *cgroup, *cwd;
  int wants_tty;
  uid_t uid;
  gid_t gid;
  gid_t groups[MAX_GROUPS];
  size_t group_count;
  char **command, **environment;
  int stdio[STDIO];
};

/* What can go wrong on the way to a running command; the names are part of the protocol. */
enum step { STEP_ORDER, STEP_CGROUP, STEP_CLONE, STEP_TTY, STEP_IDS, STEP_CWD, STEP_EXEC };

/* What the child could not do, sent over a pipe that closes by itself when the command runs. */
struct failure {
  enum step step;
  int error;
};

/* Sets what every command inherits: default signals, umask, limits, and an oom_score_adj above the agent's. */
void prepare(void);

/* Reads an order out of `size` bytes of texts. 0, or -1 when they are malformed. `forget_order` frees what it allocates. */
int parse_order(char *bytes, size_t size, struct order *order);
void forget_order(struct order *order);

/* In the child: becomes the command, or reports over `report` why it can't. */
_Noreturn void become(const struct order *order, int report);

#endif
