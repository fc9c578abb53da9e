/* A child runs the steps of its order, one after the other, up to the first that fails. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fork-server.h"

/* From the kernel's headers: musl's do not have them. */
struct clone_args {
  uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup;
};
#define INTO_CGROUP 0x200000000ULL
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

enum { STDIO = 3, CLOSE_ON_EXEC = 4 };
#define LAST_FD (~0U)

long clone_into(uint64_t flags, int cgroup, int32_t *parent_tid) {
  struct clone_args args = {.flags = flags, .parent_tid = (uint64_t)(uintptr_t)parent_tid};
  if (parent_tid) args.flags |= CLONE_PARENT_SETTID;
  if (!(flags & CLONE_PARENT)) args.exit_signal = SIGCHLD; /* with CLONE_PARENT the kernel takes the parent's exit signal and demands 0 here */
  if (cgroup >= 0) {
    args.flags |= INTO_CGROUP;
    args.cgroup = (uint64_t)cgroup;
  }
  long pid = syscall(SYS_clone3, &args, sizeof args);
  return pid < 0 ? -errno : pid;
}

void close_all_but(int keep) {
  int next = STDIO;
  if (keep >= 0) {
    if (keep != STDIO) dup3(keep, STDIO, O_CLOEXEC);
    next++;
  }
  syscall(SYS_close_range, next, LAST_FD, 0);
}

_Noreturn static void fail(struct notice *notice, int32_t step, long error) {
  notice->failed_step = step;
  notice->error = (int32_t)-error;
  _exit(1);
}

static int write_map(long pid, const char *name, const char *map) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%ld/%s", pid, name);
  ssize_t length = (ssize_t)strlen(map);
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return -errno;
  int error = write(file, map, (size_t)length) == length ? 0 : -errno;
  close(file);
  return error;
}

/* Keeps the user namespace alive until every other holder of `gate` has closed it or ended. */
_Noreturn static void hold_namespace(const int *gate) {
  char byte;
  close(gate[1]);
  while (read(gate[0], &byte, 1) < 0 && errno == EINTR) { /* again */ }
  _exit(0);
}

/*
 * Returns a descriptor of a user namespace with this map (user_namespaces(7)) of users and of groups, or -errno. A sibling process holds the namespace until
 * it is open. The fork server reaps the sibling (CLONE_PARENT): a program that is executed here must not find a child that it has not made.
 */
static long user_namespace(const char *map) {
  int gate[2];
  if (pipe2(gate, O_CLOEXEC)) return -errno;
  long pid = clone_into(CLONE_NEWUSER | CLONE_PARENT, -1, NULL);
  if (pid == 0) hold_namespace(gate);
  long result = pid < 0 ? pid : write_map(pid, "uid_map", map);
  if (result == 0 || pid == 0) result = write_map(pid, "gid_map", map);
  if (result == 0) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/ns/user", pid);
    result = open(path, O_RDONLY | O_CLOEXEC);
    if (result < 0) result = -errno;
  }
  close(gate[0]);
  close(gate[1]);
  return result;
}

static void collect(char **into, char *text, int64_t count) {
  for (; count > 0; count--, text += strlen(text) + 1) *into++ = text;
  *into = NULL;
}

/* Becomes the program, with no signal blocked (the fork server has every action at its default) and standard streams only. Returns -errno. */
static long execute(const struct order *order, const int64_t *given) {
  char **texts = malloc((size_t)(given[1] + given[3] + 2) * sizeof *texts);
  if (!texts) return -ENOMEM;
  char **environment = texts + given[1] + 1;
  collect(texts, order->data + given[0], given[1]);
  collect(environment, order->data + given[2], given[3]);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  syscall(SYS_close_range, STDIO, LAST_FD, CLOSE_ON_EXEC);
  execve(texts[0], texts, environment);
  return -errno;
}

static long argument_of(const struct order *order, const struct step *step, int argument, const long *results) {
  int64_t value = step->arguments[argument];
  int32_t loaded;
  switch (step->kinds >> (2 * argument) & 3) {
  case RESULT:
    return results[value];
  case DATA:
    return (long)(order->data + value);
  case LOADED:
    memcpy(&loaded, order->data + value, sizeof loaded);
    return loaded;
  default:
    return (long)value;
  }
}

static long run_step(const struct order *order, const struct step *step, const long *results) {
  long a[ARGUMENTS];
  for (int i = 0; i < ARGUMENTS; i++) a[i] = argument_of(order, step, i, results);
  switch (step->number) {
  case STEP_EXECUTE:
    return execute(order, step->arguments);
  case STEP_USER_NAMESPACE:
    return user_namespace(order->data + step->arguments[0]);
  case STEP_STORE:
    memcpy(order->data + a[0], &a[1], sizeof a[1]);
    return 0;
  default:
    for (;;) {
      long result = syscall(step->number, a[0], a[1], a[2], a[3], a[4], a[5]);
      if (result >= 0) return result;
      if (errno != EINTR) return -errno;
    }
  }
}

static void run_steps(const struct order *order, struct notice *notice) {
  static long results[MAX_STEPS];
  for (size_t place = 0; place < order->step_count; place++) {
    results[place] = run_step(order, &order->steps[place], results);
    if (results[place] < 0) fail(notice, (int32_t)place, results[place]);
  }
}

void run(const struct order *order, struct notice *notice) {
  run_steps(order, notice);
  _exit(0);
}

/* Continues in a sibling, which clone3 starts in the order's cgroup. The sibling inherits the v1 cgroups that the parked process has entered. */
_Noreturn static void go_on(const struct order *order, struct notice *notice) {
  int cgroup = -1;
  if (order->cgroup) {
    cgroup = open(order->cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (cgroup < 0) fail(notice, FAILED_CGROUP, -errno);
  }
  long pid = clone_into(CLONE_PARENT, cgroup, &notice->successor);
  if (pid < 0) fail(notice, FAILED_CLONE, pid);
  if (pid > 0) _exit(0);
  close_all_but(-1);
  run(order, notice);
}

void park(const struct order *order, int channel, struct notice *notice) {
  run_steps(order, notice);
  if (send(channel, "", 1, MSG_NOSIGNAL) != 1) _exit(0);
  struct head head;
  if (read_whole(channel, &head, sizeof head)) _exit(0); /* the fork server has ended */
  size_t size = order_size(&head);
  char *bytes = size ? malloc(size) : NULL;
  struct order next;
  if (!bytes) fail(notice, FAILED_ORDER, -ENOMEM);
  memcpy(bytes, &head, sizeof head);
  if (read_whole(channel, bytes + sizeof head, size - sizeof head)) _exit(0);
  if (parse_order(bytes, size, &next)) fail(notice, FAILED_ORDER, -EINVAL);
  go_on(&next, notice);
}
