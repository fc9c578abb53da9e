/*
 * fork-server: runs system calls in children of its own, for the server. One lives beside each server and ends with it.
 *
 * Why a process of its own: some calls can only be made by a process with one thread (entering a user namespace, holding a new one), others
 * must not touch the server (mount namespaces), and a runtime must start in its cgroup (CLONE_INTO_CGROUP). It is small, so its forks are fast.
 *
 * Descriptor 0 is a stream socket to the server, which sends orders (their form is in order.c) of four kinds:
 *
 *   run       forks a child, in the cgroup if one is named, that makes the steps; the last may be to become a program
 *   park      forks a child that makes the steps and then waits
 *   go on     the parked child of this id goes on with these steps, in a sibling that starts in the cgroup
 *   kill      ends the child of this id
 *
 * An answer is four numbers of 32 bits: id, kind, and two that depend on the kind.
 *
 *   started PID 0      right after the fork, if the order asks for it
 *   ready 0 0          a parked child waits
 *   ended STATUS CPU   the number that wait() gives, and the CPU time in microseconds of the child and of those that it waited for
 *   failed STEP ERRNO  the step that could not be made, or one of enum failure; the child has ended
 *
 * The last answer to each order to run or park is one of the last two. The fork server never blocks on one child. Children inherit none of its descriptors
 * and outlive it, except parked ones. When the server has ended, the fork server ends too, or the kernel kills it (PR_SET_PDEATHSIG, which is about the
 * thread that started it: the server's first).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fork-server.h"
#include "lazy.h"

enum {
  MAX_CHILDREN = 1024,
  /* An order to a parked child must fit into the socket's buffer, so that sending it never blocks. */
  MAX_PARKED_ORDER = 64 * 1024,
};
enum answer { STARTED = 1, READY = 2, ENDED = 3, FAILED = 4 };

/* One that runs. Its notice is that of the same place. */
struct child {
  pid_t pid; /* 0: a free place */
  uint32_t id;
  int channel; /* of a parked one, else -1 */
  int is_ready, is_killed;
};

static struct child children[MAX_CHILDREN];
static struct notice *notices;
static size_t used; /* places that are or were taken: no more need to be looked at */
static int server;

static void answer(uint32_t id, enum answer what, int32_t first, int32_t second) {
  int32_t numbers[4] = {(int32_t)id, what, first, second};
  for (size_t done = 0; done < sizeof numbers;) {
    ssize_t sent = send(server, (char *)numbers + done, sizeof numbers - done, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) _exit(0); /* the server has gone */
    done += (size_t)sent;
  }
}

int read_whole(int fd, void *buffer, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t got = read(fd, (char *)buffer + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return -1;
    done += (size_t)got;
  }
  return 0;
}

static struct child *free_place(void) {
  for (size_t i = 0; i < used; i++)
    if (children[i].pid == 0) return &children[i];
  return used < MAX_CHILDREN ? &children[used++] : NULL;
}

static struct notice *notice_of(const struct child *child) { return &notices[child - children]; }

static struct child *find(uint32_t id) {
  for (size_t i = 0; i < used; i++)
    if (children[i].pid != 0 && children[i].id == id) return &children[i];
  return NULL;
}

static void close_channel(struct child *child) {
  if (child->channel >= 0) close(child->channel);
  child->channel = -1;
}

_Noreturn static void become_child(const struct order *order, int channel, struct notice *notice) {
  close_all_but(channel);
  if (channel >= 0) park(order, 3, notice);
  run(order, notice);
}

static long fork_in(const struct order *order, int *channel, struct notice *notice) {
  int ends[2] = {-1, -1}, cgroup = -1;
  if (order->kind == ORDER_PARK && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) return -errno;
  if (order->cgroup) {
    cgroup = open(order->cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (cgroup < 0) {
      notice->failed_step = FAILED_CGROUP;
      long error = -errno;
      if (ends[0] >= 0) close(ends[0]), close(ends[1]);
      return error;
    }
  }
  long pid = clone_into(0, cgroup, NULL);
  if (pid == 0) become_child(order, ends[1], notice);
  if (cgroup >= 0) close(cgroup);
  if (ends[1] >= 0) close(ends[1]);
  if (pid < 0 && ends[0] >= 0) close(ends[0]);
  *channel = ends[0];
  return pid;
}

static void start(const struct order *order) {
  struct child *child = free_place();
  if (!child) {
    answer(order->id, FAILED, FAILED_CLONE, EAGAIN);
    return;
  }
  struct notice *notice = notice_of(child);
  *notice = (struct notice){.failed_step = FAILED_CLONE};
  int channel = -1;
  long pid = fork_in(order, &channel, notice);
  if (pid < 0) {
    answer(order->id, FAILED, notice->failed_step, (int32_t)-pid);
    return;
  }
  *child = (struct child){.pid = (pid_t)pid, .id = order->id, .channel = channel};
  if (order->wants_pid) answer(order->id, STARTED, (int32_t)pid, 0);
}

/* A parked child that can't take the order is killed; its end is reported as that of any other. */
static void go_on(const struct order *order, const char *bytes, size_t size) {
  struct child *child = find(order->id);
  if (!child) {
    answer(order->id, FAILED, FAILED_ORDER, ESRCH);
    return;
  }
  int is_sent = child->channel >= 0 && child->is_ready && size <= MAX_PARKED_ORDER &&
                send(child->channel, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size;
  if (!is_sent) kill(child->pid, SIGKILL);
  close_channel(child);
}

static void end(const struct order *order) {
  struct child *child = find(order->id);
  if (!child) return;
  child->is_killed = 1;
  int32_t successor = notice_of(child)->successor;
  kill(successor > 0 ? successor : child->pid, SIGKILL);
}

static void take_order(void) {
  struct head head;
  if (read_whole(server, &head, sizeof head)) _exit(0);
  size_t size = order_size(&head);
  char *bytes = size ? malloc(size) : NULL;
  if (!bytes) _exit(1); /* where the next order begins is not known */
  memcpy(bytes, &head, sizeof head);
  if (read_whole(server, bytes + sizeof head, size - sizeof head)) _exit(0);
  struct order order;
  if (parse_order(bytes, size, &order)) answer(order.id, FAILED, FAILED_ORDER, head.version == VERSION ? EINVAL : EPROTO);
  else if (order.kind == ORDER_GO_ON) go_on(&order, bytes, size);
  else if (order.kind == ORDER_KILL) end(&order);
  else start(&order);
  free(bytes);
}

static void hear_ready(struct child *child) {
  char byte;
  if (recv(child->channel, &byte, 1, MSG_DONTWAIT) != 1) {
    close_channel(child); /* it is about to end */
    return;
  }
  child->is_ready = 1;
  answer(child->id, READY, 0, 0);
}

static int32_t microseconds(const struct rusage *usage) {
  long long sum = (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000LL + usage->ru_utime.tv_usec + usage->ru_stime.tv_usec;
  return sum < INT32_MAX ? (int32_t)sum : INT32_MAX;
}

static void hear_end(struct child *child, pid_t pid, int status, int32_t cpu) {
  const struct notice *notice = notice_of(child);
  if (pid == child->pid && notice->successor > 0 && notice->successor != pid) {
    child->pid = notice->successor;
    if (child->is_killed) kill(child->pid, SIGKILL);
    return;
  }
  close_channel(child);
  if (notice->error) answer(child->id, FAILED, notice->failed_step, notice->error);
  else answer(child->id, ENDED, status, cpu);
  child->pid = 0;
}

/* An unknown pid is that of a process that held a user namespace, or of a parked child whose successor has ended before it. */
static void reap(int ends) {
  struct signalfd_siginfo info;
  if (read(ends, &info, sizeof info) < 0) { /* one notice may stand for many ends, or for none that is left */ }
  int status;
  struct rusage usage;
  for (pid_t pid; (pid = wait4(-1, &status, WNOHANG, &usage)) > 0;)
    for (size_t i = 0; i < used; i++)
      if (children[i].pid != 0 && (children[i].pid == pid || notices[i].successor == pid)) {
        hear_end(&children[i], pid, status, microseconds(&usage));
        break;
      }
}

/* Default actions for all signals, which children inherit, and every one of them blocked: only the server ends this process. */
static int prepare(void) {
  struct sigaction standard = {.sa_handler = SIG_DFL};
  for (int number = 1; number < NSIG; number++) sigaction(number, &standard, NULL); /* two can't be set, which is fine */
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
  prctl(PR_SET_NAME, "fork-server");
  /* A stopped fork server does not read that its server has ended. If the server has ended before this call, the closed socket shows it. */
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setsid(); /* fails where it leads a session already */
  umask(022);
  if (chdir("/")) return -1;
  /* Children must not inherit the socket as descriptor 0. */
  server = fcntl(0, F_DUPFD_CLOEXEC, 3);
  int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (server < 0 || nothing < 0 || dup2(nothing, 0) < 0) return -1;
  close(nothing);
  notices = mmap(NULL, MAX_CHILDREN * sizeof *notices, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return notices == MAP_FAILED ? -1 : 0;
}

int main(int words, char **arguments) {
  if (words == 3 && strcmp(arguments[1], "lazy-memory") == 0) return lazy_memory(arguments[2]);
  static struct pollfd watched[MAX_CHILDREN + 2];
  static size_t places[MAX_CHILDREN + 2];
  if (prepare()) return 1;
  sigset_t ends_of_children;
  sigemptyset(&ends_of_children);
  sigaddset(&ends_of_children, SIGCHLD);
  int ends = signalfd(-1, &ends_of_children, SFD_CLOEXEC | SFD_NONBLOCK);
  if (ends < 0) return 1;
  for (;;) {
    watched[0] = (struct pollfd){.fd = server, .events = POLLIN};
    watched[1] = (struct pollfd){.fd = ends, .events = POLLIN};
    nfds_t count = 2;
    for (size_t i = 0; i < used; i++)
      if (children[i].pid != 0 && children[i].channel >= 0 && !children[i].is_ready) {
        watched[count] = (struct pollfd){.fd = children[i].channel, .events = POLLIN};
        places[count++] = i;
      }
    if (poll(watched, count, -1) < 0 && errno != EINTR) return 1;
    for (nfds_t i = 2; i < count; i++)
      if (watched[i].revents) hear_ready(&children[places[i]]);
    if (watched[1].revents) reap(ends);
    if (watched[0].revents) take_order();
  }
}
