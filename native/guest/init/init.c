/*
 * init: process 1 of every sandbox. It starts the program that its arguments name after "--", takes processes whose parent has ended, hands signals on
 * to its child, and ends with it. It is written for this because a thousand of them idle on one machine: it waits for signals without a time limit, so an
 * idle sandbox has no wake-ups from it, and it has no memory but its stack.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* The kernel sends them to a process for what the process itself did: blocked, they would be lost. */
static const int OWN[] = {SIGFPE, SIGILL, SIGSEGV, SIGBUS, SIGABRT, SIGTRAP, SIGSYS, SIGTTIN, SIGTTOU};

static int fail(const char *what) {
  const char *why = strerror(errno);
  write(2, "init: ", 6);
  write(2, what, strlen(what));
  write(2, ": ", 2);
  write(2, why, strlen(why));
  write(2, "\n", 1);
  return 1;
}

static char **program_in(char **arguments) {
  while (*arguments && strcmp(*arguments, "--") != 0) arguments++;
  return *arguments ? arguments + 1 : arguments;
}

/* Takes all processes that have ended. The exit code to end with when `child` is one of them, else -1. */
static int take_ended(pid_t child) {
  int code = -1, status;
  for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    if (pid != child) continue;
    if (WIFEXITED(status)) code = WEXITSTATUS(status);
    else if (WIFSIGNALED(status)) code = 128 + WTERMSIG(status);
  }
  return code;
}

int main(int count, char **arguments) {
  (void)count;
  char **program = program_in(arguments + 1);
  if (!*program) {
    errno = EINVAL;
    return fail("no program after --");
  }
  sigset_t taken, before;
  sigfillset(&taken);
  for (size_t i = 0; i < sizeof OWN / sizeof *OWN; i++) sigdelset(&taken, OWN[i]);
  /* Before the child exists, so that its end is not missed. */
  sigprocmask(SIG_SETMASK, &taken, &before);

  pid_t child = fork();
  if (child < 0) return fail("fork");
  if (child == 0) {
    setpgid(0, 0);
    sigprocmask(SIG_SETMASK, &before, NULL);
    execvp(program[0], program);
    _exit(fail(program[0]) + (errno == ENOENT ? 126 : 125));
  }
  for (;;) {
    siginfo_t about;
    int number = sigwaitinfo(&taken, &about);
    /* Also after an interruption: a checkpoint may have taken the signal's place. */
    int code = take_ended(child);
    if (code >= 0) return code;
    if (number > 0 && number != SIGCHLD) kill(child, number);
  }
}
