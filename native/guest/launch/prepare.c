/* What every command inherits: set once, in launch itself. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch.h"

enum {
  /* Processes, threads among them, that are left to the agent. */
  ROOM = 32,
  /* Files that a process may have open before it asks for more (the usual number; select() takes no larger ones). */
  OPEN_FILES = 1024,
};

/* What a command's oom_score_adj is above the agent's, and what it can be at most (proc(5)). */
enum { ABOVE_AGENT = 100, MOST = 1000 };

/* Default signals: what is ignored would stay so in every command. */
static void reset_signals(void) {
  struct sigaction standard = {.sa_handler = SIG_DFL};
  for (int number = 1; number < NSIG; number++) sigaction(number, &standard, NULL); /* two can't be set, which is fine */
}

/*
 * When memory runs out, the kernel must kill commands before the agent; launch itself is smaller than any of them. Without /proc
 * the score can't be set, which is not fatal.
 */
static void prefer_for_oom(void) {
  char text[16] = "";
  int file = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  int score = read(file, text, sizeof text - 1) > 0 ? atoi(text) + ABOVE_AGENT : ABOVE_AGENT;
  if (score < ABOVE_AGENT) score = ABOVE_AGENT;
  if (score > MOST) score = MOST;
  /* By hand: printf would double this program. No zeros in front, or the kernel reads it as octal. */
  char digits[4];
  size_t first = sizeof digits;
  for (; score > 0; score /= 10) digits[--first] = (char)('0' + score % 10);
  if (write(file, digits + first, sizeof digits - first) < 0) { /* see above */ }
  close(file);
}

/* A fork bomb must leave the agent the few threads that it needs: the limit of commands, and of launch, is below that of the sandbox. */
static void leave_room(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NPROC, &limit) || limit.rlim_max == RLIM_INFINITY || limit.rlim_max < 2 * ROOM) return;
  limit.rlim_max -= ROOM;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NPROC, &limit);
}

/* Open files cost kernel memory: a program that needs many raises its own limit, up to the sandbox's. */
static void begin_with_few_files(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur <= OPEN_FILES) return;
  limit.rlim_cur = OPEN_FILES;
  setrlimit(RLIMIT_NOFILE, &limit);
}

void prepare(void) {
  reset_signals();
  prefer_for_oom();
  leave_room();
  begin_with_few_files();
  umask(022);
}
