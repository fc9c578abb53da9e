/*
 * launch [-t] CGROUP UID GID GROUPS CWD CMD [ARG...]
 *
 * Starts CMD inside the cgroup directory CGROUP ("-": stay in ours) without the wait of a write to cgroup.procs, as the given user, with
 * clean signals and descriptors, and stays as its parent to tell how it ended. GROUPS are decimal ids with commas ("-": none). -t makes
 * CMD leader of a session of its own whose controlling terminal is descriptor 0; else it leads a process group of its own.
 * The environment is handed on as it is; descriptors 0, 1 and 2 become CMD's, and are closed here so that their other ends see its end.
 *
 * Descriptor 3 is for the agent, who reads lines:
 *   <pid>             CMD has been started (or could not be executed, which standard error and status 127 or 126 tell)
 *   <wait status>     CMD has ended; the raw number that wait() gives
 *   !<step> <errno>   nothing was started; step is cgroup, clone, tty, ids or cwd
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The kernel's own, spelled out: musl's headers do not have it. */
struct clone_args {
  uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup;
};
#define CLONE_INTO_CGROUP 0x200000000ULL

enum { AGENT = 3, MAX_GROUPS = 1024, ROOM = 32, BAD_USAGE = 125 };

struct order {
  int wants_tty;
  const char *cgroup, *cwd;
  uid_t uid;
  gid_t gid;
  gid_t groups[MAX_GROUPS];
  size_t group_count;
  char **command;
};

/* What the child could not do, sent over a pipe that closes by itself when the command runs. */
struct failure {
  int step, error;
};

enum { STEP_CGROUP, STEP_CLONE, STEP_TTY, STEP_IDS, STEP_CWD };
static const char *const STEPS[] = {"cgroup", "clone", "tty", "ids", "cwd"};

static int parse_id(const char *text, const char **end, uint32_t *id) {
  if (*text < '0' || *text > '9') return -1;
  char *stop;
  errno = 0;
  unsigned long value = strtoul(text, &stop, 10);
  if (errno || value >= UINT32_MAX) return -1; /* the largest id means "leave it" to the kernel */
  *id = (uint32_t)value;
  *end = stop;
  return 0;
}

static int parse_one_id(const char *text, uint32_t *id) {
  const char *end;
  return parse_id(text, &end, id) || *end ? -1 : 0;
}

static int parse_groups(const char *text, struct order *order) {
  if (!strcmp(text, "-")) return 0;
  for (;;) {
    const char *end;
    if (order->group_count == MAX_GROUPS || parse_id(text, &end, &order->groups[order->group_count])) return -1;
    order->group_count++;
    if (!*end) return 0;
    if (*end != ',') return -1;
    text = end + 1;
  }
}

static int parse(int argc, char **argv, struct order *order) {
  char **arg = argv + 1;
  if (argc > 1 && !strcmp(*arg, "-t")) order->wants_tty = 1, arg++;
  if (argv + argc - arg < 6) return -1;
  order->cgroup = arg[0];
  order->cwd = arg[4];
  order->command = arg + 5;
  return parse_one_id(arg[1], &order->uid) || parse_one_id(arg[2], &order->gid) || parse_groups(arg[3], order) ? -1 : 0;
}

static void say(const char *name, const char *what) {
  dprintf(2, "%s: %s\n", name, what);
}

_Noreturn static void give_up(int report, int step) {
  struct failure failure = {step, errno};
  if (write(report, &failure, sizeof failure) < 0) _exit(BAD_USAGE);
  _exit(BAD_USAGE);
}

static void reset_signals(void) {
  struct sigaction standard = {.sa_handler = SIG_DFL};
  for (int number = 1; number < NSIG; number++) sigaction(number, &standard, NULL); /* two can't be set, which is fine */
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The kernel is to take commands before the agent when memory runs out. Where there is no /proc this is not possible, and not fatal. */
static void prefer_for_oom(void) {
  int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  if (write(file, "100", 3) < 0) { /* see above */ }
  close(file);
}

/* A fork bomb must leave the agent the few threads it needs: a command may not fill the limit of processes that the agent has. */
static void leave_room(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NPROC, &limit) || limit.rlim_max == RLIM_INFINITY || limit.rlim_max < 2 * ROOM) return;
  limit.rlim_max -= ROOM;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NPROC, &limit);
}

_Noreturn static void execute(char **command) {
  execvp(command[0], command);
  if (errno == ENOEXEC) { /* a script without "#!": a shell takes it, as everywhere else */
    size_t count = 0;
    while (command[count]) count++;
    char **script = calloc(count + 2, sizeof *script);
    if (script) {
      script[0] = "sh";
      memcpy(script + 1, command, count * sizeof *script);
      execv("/bin/sh", script);
    }
  }
  int error = errno;
  struct stat found;
  if (error != ENOENT) say(command[0], strerror(error));
  else if (strchr(command[0], '/') && !stat(command[0], &found)) say(command[0], "its interpreter is missing in this sandbox");
  else say(command[0], "command not found");
  _exit(error == ENOENT ? 127 : 126);
}

_Noreturn static void become(const struct order *order, int report) {
  reset_signals();
  prefer_for_oom();
  leave_room();
  umask(022);
  if (order->wants_tty) {
    if (setsid() < 0 || ioctl(0, TIOCSCTTY, 0)) give_up(report, STEP_TTY);
  } else {
    setpgid(0, 0);
  }
  if (setgroups(order->group_count, order->groups) || setresgid(order->gid, order->gid, order->gid) ||
      setresuid(order->uid, order->uid, order->uid))
    give_up(report, STEP_IDS);
  if (chdir(order->cwd)) give_up(report, STEP_CWD);
  syscall(SYS_close_range, AGENT, ~0U, 4 /* CLOSE_RANGE_CLOEXEC */);
  execute(order->command);
}

static long clone_into(const char *cgroup) {
  struct clone_args args = {.exit_signal = SIGCHLD};
  if (strcmp(cgroup, "-")) {
    int directory = open(cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) return -2;
    args.flags = CLONE_INTO_CGROUP;
    args.cgroup = (uint64_t)directory;
  }
  return syscall(SYS_clone3, &args, sizeof args);
}

static int failed(int step, int error) {
  dprintf(AGENT, "!%s %d\n", STEPS[step], error);
  return BAD_USAGE;
}

int main(int argc, char **argv) {
  static struct order order;
  if (parse(argc, argv, &order)) {
    say("launch", "usage: launch [-t] CGROUP UID GID GROUPS CWD CMD [ARG...]");
    return BAD_USAGE;
  }
  signal(SIGPIPE, SIG_IGN); /* an agent that has gone is no reason to leave a child unwaited */
  int report[2];
  if (pipe2(report, O_CLOEXEC)) return failed(STEP_CLONE, errno);
  long pid = clone_into(order.cgroup);
  if (pid < 0) return failed(pid == -2 ? STEP_CGROUP : STEP_CLONE, errno);
  if (pid == 0) become(&order, report[1]);

  close(report[1]);
  for (int fd = 0; fd < AGENT; fd++) close(fd);
  struct failure failure;
  int broken = read(report[0], &failure, sizeof failure) == sizeof failure;
  close(report[0]);
  if (!broken) dprintf(AGENT, "%ld\n", pid);
  int status;
  while (waitpid((pid_t)pid, &status, 0) < 0)
    if (errno != EINTR) return failed(STEP_CLONE, errno);
  if (broken) return failed(failure.step, failure.error);
  dprintf(AGENT, "%d\n", status);
  return 0;
}
