/* From clone to the command: sets the child's descriptors, user and directory. Settings that all commands share are made once, in launch (prepare.c). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launch.h"

enum { NOT_STARTED = 125, CLOSE_ON_EXEC = 4 /* CLOSE_RANGE_CLOEXEC */ };

extern char **environ;

_Noreturn static void give_up(int report, enum step step) {
  struct failure failure = {step, errno};
  if (write(report, &failure, sizeof failure) < 0) _exit(NOT_STARTED);
  _exit(NOT_STARTED);
}

static void say(const char *name, const char *what) {
  dprintf(2, "%s: %s\n", name, what);
}

_Noreturn static void execute(char **command, int report) {
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
  if (error == E2BIG) give_up(report, STEP_EXEC);
  if (error != ENOENT) say(command[0], strerror(error));
  else if (strchr(command[0], '/') && !stat(command[0], &found)) say(command[0], "its interpreter is missing in this sandbox");
  else say(command[0], "command not found");
  _exit(error == ENOENT ? 127 : 126);
}

_Noreturn void become(const struct order *order, int report) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  for (int fd = 0; fd < STDIO; fd++)
    if (dup2(order->stdio[fd], fd) < 0) give_up(report, STEP_CLONE);
  if (order->wants_tty) {
    if (setsid() < 0 || ioctl(0, TIOCSCTTY, 0)) give_up(report, STEP_TTY);
  } else {
    setpgid(0, 0);
  }
  if (setgroups(order->group_count, order->groups) || setresgid(order->gid, order->gid, order->gid) ||
      setresuid(order->uid, order->uid, order->uid))
    give_up(report, STEP_IDS);
  if (chdir(order->cwd)) give_up(report, STEP_CWD);
  syscall(SYS_close_range, STDIO, ~0U, CLOSE_ON_EXEC);
  environ = order->environment;
  execute(order->command, report);
}
