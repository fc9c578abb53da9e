/*
 * launch: starts commands for the agent, and reports how they end. One runs in every sandbox, from its first `/init` on.
 *
 * Why a process of its own: the agent's runtime can't start a child inside a cgroup (CLONE_INTO_CGROUP), with supplementary groups or with
 * a terminal of its own, and moving a process afterwards takes 7 to 12 ms in the kernel. It is small, so its forks are fast.
 *
 * Descriptor 0 is a SEQPACKET socket to the agent. A packet from the agent is an order (its texts are in order.c) with the command's
 * descriptors 0, 1 and 2; a fourth one is a file with the texts where they are too long for a packet, which then has the ID alone. Answers are
 * packets of one line:
 *
 *   ID started PID         CMD runs (or could not be executed, which its standard error and status 127 or 126 tell)
 *   ID ended STATUS        it has ended; the raw number that wait() gives
 *   ID failed STEP ERRNO   nothing was started
 *
 * Each command gets clean signals and descriptors, and leads a process group of its own, or a session whose controlling terminal is its
 * descriptor 0. launch never blocks on one command. When the agent has ended, launch ends.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch.h"

/* From the kernel's headers: musl's do not have it. */
struct clone_args {
  uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup;
};
#define CLONE_INTO_CGROUP 0x200000000ULL

enum { AGENT = 0, PACKET = 64 * 1024, ID = 24, WATCHED = 2 /* before those of children: orders, ends of children */ };
static const char *const STEPS[] = {"order", "cgroup", "clone", "tty", "ids", "cwd", "exec"};

/* A command that runs or is being started; until it runs, `report` is the pipe over which the child reports a failure. */
struct child {
  pid_t pid;
  int report;
  int is_failed;
  char id[ID];
};

static struct child *children;
static struct pollfd *watched;
static size_t child_count, room;

static void answer(const char *id, const char *what, const char *detail, long number) {
  char line[128];
  int length = snprintf(line, sizeof line, "%.*s %s %s%ld\n", ID - 1, id, what, detail, number);
  if (send(AGENT, line, (size_t)length, MSG_NOSIGNAL) < 0) _exit(0); /* the agent has gone */
}

static void fail(const char *id, enum step step, int error) {
  char detail[16];
  snprintf(detail, sizeof detail, "%s ", STEPS[step]);
  answer(id, "failed", detail, error);
}

/* Room for one more child, asked for before it is made. */
static int make_room(void) {
  if (child_count < room) return 0;
  size_t wanted = room ? 2 * room : 16;
  struct child *more = realloc(children, wanted * sizeof *more);
  if (more) children = more;
  struct pollfd *polled = realloc(watched, (wanted + WATCHED) * sizeof *polled);
  if (polled) watched = polled;
  if (!more || !polled) return -1;
  room = wanted;
  return 0;
}

static long clone_into(const char *cgroup) {
  struct clone_args args = {.exit_signal = SIGCHLD};
  int directory = -1;
  if (strcmp(cgroup, "-")) {
    directory = open(cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) return -2;
    args.flags = CLONE_INTO_CGROUP;
    args.cgroup = (uint64_t)directory;
  }
  long pid = syscall(SYS_clone3, &args, sizeof args);
  /* Container runtimes hide clone3 from their filters (the RuntimeDefault of Kubernetes); without a cgroup, fork does the same. */
  if (pid < 0 && errno == ENOSYS && directory < 0) pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (pid != 0 && directory >= 0) {
    int error = errno;
    close(directory);
    errno = error;
  }
  return pid;
}

static void start(const struct order *order) {
  int report[2];
  if (make_room() || pipe2(report, O_CLOEXEC | O_NONBLOCK)) {
    fail(order->id, STEP_CLONE, errno);
    return;
  }
  long pid = clone_into(order->cgroup);
  if (pid == 0) become(order, report[1]);
  int error = errno;
  close(report[1]);
  if (pid > 0) {
    struct child *child = &children[child_count++];
    *child = (struct child){.pid = (pid_t)pid, .report = report[0]};
    snprintf(child->id, sizeof child->id, "%s", order->id);
  } else {
    close(report[0]);
    fail(order->id, pid == -2 ? STEP_CGROUP : STEP_CLONE, error);
  }
}

/* The texts of a long order, from the file that came with it. */
static char *read_file(int file, size_t *size) {
  struct stat facts;
  if (fstat(file, &facts) || facts.st_size <= 0) return NULL;
  char *bytes = malloc((size_t)facts.st_size);
  size_t done = 0;
  while (bytes && done < (size_t)facts.st_size) {
    ssize_t got = pread(file, bytes + done, (size_t)facts.st_size - done, (off_t)done);
    if (got <= 0) break;
    done += (size_t)got;
  }
  *size = done;
  return bytes;
}

static void take_order(void) {
  static char packet[PACKET];
  static struct order order;
  union {
    char bytes[CMSG_SPACE((STDIO + 1) * sizeof(int))];
    struct cmsghdr align;
  } control;
  struct iovec part = {packet, sizeof packet};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  ssize_t got = recvmsg(AGENT, &message, MSG_CMSG_CLOEXEC);
  if (got < 0 && errno == EINTR) return;
  if (got <= 0) _exit(0);
  int fds[STDIO + 1] = {-1, -1, -1, -1};
  size_t count = 0;
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  if (header && header->cmsg_type == SCM_RIGHTS) {
    count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    memcpy(fds, CMSG_DATA(header), count * sizeof(int));
  }
  int is_cut = message.msg_flags & MSG_CTRUNC; /* no descriptor left for all that came */
  size_t size = (size_t)got;
  char *long_order = count > STDIO ? read_file(fds[STDIO], &size) : NULL;
  memcpy(order.stdio, fds, sizeof order.stdio);
  if (parse_order(long_order ? long_order : packet, size, &order)) fail(order.id, STEP_ORDER, is_cut ? EMFILE : EINVAL);
  else if (count < STDIO) fail(order.id, STEP_ORDER, is_cut ? EMFILE : EBADF);
  else start(&order);
  forget_order(&order);
  free(long_order);
  for (size_t i = 0; i < count; i++) close(fds[i]);
}

/* Reads how a start ended: the pipe is closed when the command runs, and holds a failure otherwise. The read does not block: after the child's end
 * another process may still hold the pipe open. */
static void settle(struct child *child) {
  struct failure failure;
  ssize_t got = read(child->report, &failure, sizeof failure);
  close(child->report);
  child->report = -1;
  child->is_failed = got == sizeof failure;
  if (child->is_failed) fail(child->id, failure.step, failure.error);
  else answer(child->id, "started", "", child->pid);
}

static void reap(int ends) {
  struct signalfd_siginfo info;
  if (read(ends, &info, sizeof info) < 0) { /* one notice may stand for many ends, or for none that is left */ }
  int status;
  for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    size_t at = 0;
    while (at < child_count && children[at].pid != pid) at++;
    if (at == child_count) continue;
    struct child *child = &children[at];
    if (child->report >= 0) settle(child);
    if (!child->is_failed) answer(child->id, "ended", "", status);
    *child = children[--child_count];
  }
}

int main(void) {
  prepare();
  sigset_t ends_of_children;
  sigemptyset(&ends_of_children);
  sigaddset(&ends_of_children, SIGCHLD);
  sigprocmask(SIG_BLOCK, &ends_of_children, NULL);
  int ends = signalfd(-1, &ends_of_children, SFD_CLOEXEC | SFD_NONBLOCK);
  if (ends < 0 || make_room()) return 1;
  for (;;) {
    watched[0] = (struct pollfd){.fd = AGENT, .events = POLLIN};
    watched[1] = (struct pollfd){.fd = ends, .events = POLLIN};
    size_t count = WATCHED; /* those that run are left out: poll takes no more than the limit of descriptors */
    for (size_t i = 0; i < child_count; i++)
      if (children[i].report >= 0) watched[count++] = (struct pollfd){.fd = children[i].report, .events = POLLIN};
    if (poll(watched, count, -1) < 0 && errno != EINTR) return 1;
    size_t next = WATCHED;
    for (size_t i = 0; i < child_count; i++)
      if (children[i].report >= 0 && watched[next++].revents) settle(&children[i]);
    if (watched[1].revents) reap(ends);
    if (watched[0].revents) take_order();
  }
}
