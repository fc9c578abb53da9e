/*
 * lazy-memory: gives restored processes their memory while they run already. The fork server's program does it when it is started as
 * `fork-server lazy-memory PLAN`, at the moment when CRIU has restored the processes and none of them runs. CRIU has left out the large pieces.
 *
 * PLAN is a file of lines:
 *
 *   lazy 1                          the version
 *   kill PATH                       a file that ends all processes of the sandbox when `1` is written to it
 *   lost PATH                       a file to be made before that: why the sandbox ended
 *   process PID PATH                a process on the machine, and the file that has its pages
 *   watched ADDRESS LENGTH          a mapping of it with memory that is missing
 *   missing ADDRESS LENGTH OFFSET   a piece of that, and the place of its pages in the file
 *
 * When this process exits with 0, all faults in the mappings are answered, by a process in the background that also copies what nobody has asked for,
 * from the beginning to the end. It ends when everything is there. Until then it holds a lock of the open file on PLAN. A second one, the guard, has the same
 * descriptors: when the first ends before its time, processes would find zeros where their memory was, but the guard's descriptors make them wait,
 * and it ends the sandbox. Exit code 3: nothing was changed, since the machine cannot do this.
 */
#define _GNU_SOURCE
#include "lazy.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
  LINE = 8192,
  MOST_TARGETS = 250, /* their numbers travel as bytes */
  MOST_BYTES = 256 << 20, /* a process with many pieces that forks often could take the machine's memory */
};

static char kill_path[LINE], lost_path[LINE];

int fault_ioctl(int fault, unsigned long request, void *order) { return (int)syscall(SYS_ioctl, fault, request, order); }

static int read_line_of_plan(char *line, struct targets *targets) {
  unsigned long long address, length, offset;
  int pid, at = 0;
  line[strcspn(line, "\n")] = 0;
  struct target *last = targets->count ? &targets->all[targets->count - 1] : NULL;
  if (strcmp(line, "lazy 1") == 0) return 0;
  if (strncmp(line, "lost ", 5) == 0) return snprintf(lost_path, sizeof lost_path, "%s", line + 5) > 0 ? 0 : -1;
  if (strncmp(line, "kill ", 5) == 0) return snprintf(kill_path, sizeof kill_path, "%s", line + 5) > 0 ? 0 : -1;
  if (sscanf(line, "process %d %n", &pid, &at) == 1 && at > 0) {
    struct target *target = add_target(targets);
    target->number = (int)targets->count - 1;
    target->pid = pid;
    target->pages = open(line + at, O_RDONLY | O_CLOEXEC);
    return target->pages < 0 || targets->count > MOST_TARGETS ? -1 : 0;
  }
  if (last && sscanf(line, "watched %llu %llu", &address, &length) == 2) add_piece(&last->watched, (struct piece){address, length, 0});
  else if (last && sscanf(line, "missing %llu %llu %llu", &address, &length, &offset) == 3) add_piece(&last->missing, (struct piece){address, length, offset});
  else return -1;
  return 0;
}

/* The plan stays open and locked for as long as this process or one of its children lives. */
static int read_plan(const char *path, struct targets *targets) {
  int fd = open(path, O_RDWR);
  struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  FILE *plan = fd < 0 || fcntl(fd, F_OFD_SETLK, &whole) < 0 ? NULL : fdopen(fd, "r");
  char line[LINE];
  if (!plan) return -1;
  while (fgets(line, sizeof line, plan))
    if (read_line_of_plan(line, targets) < 0) return -1;
  return targets->count > 0 ? 0 : -1;
}

static int watch(const struct target *target) {
  struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_EVENT_FORK | UFFD_FEATURE_EVENT_REMAP | UFFD_FEATURE_EVENT_REMOVE | UFFD_FEATURE_EVENT_UNMAP};
  if (fault_ioctl(target->fault, UFFDIO_API, &api) < 0) return -1;
  for (size_t i = 0; i < target->watched.count; i++) {
    struct uffdio_register order = {{target->watched.all[i].address, target->watched.all[i].length}, UFFDIO_REGISTER_MODE_MISSING, 0};
    if (fault_ioctl(target->fault, UFFDIO_REGISTER, &order) < 0) return -1;
  }
  return 0;
}

static void end_sandbox(void) {
  close(open(lost_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  int fd = open(kill_path, O_WRONLY | O_CLOEXEC);
  if (fd < 0 || write(fd, "1", 1) < 0) { /* it has gone */ }
}

/* Waits until the other process has ended, whose descriptors it has too; closes those that the other has no use for any more. */
static void guard(struct targets *targets, int told, pid_t other) {
  unsigned char number;
  ssize_t got;
  while ((got = read(told, &number, 1)) == 1 || (got < 0 && errno == EINTR))
    if (got == 1 && number < targets->count) close(targets->all[number].fault);
  int status;
  while (waitpid(other, &status, 0) < 0 && errno == EINTR) {}
  if (!WIFEXITED(status) || WEXITSTATUS(status) != LAZY_DONE) end_sandbox();
  _exit(0);
}

static int go_on_behind(struct targets *targets) {
  int told[2];
  if (pipe2(told, O_CLOEXEC) < 0) return LAZY_FAILED;
  pid_t guarding = fork();
  if (guarding < 0) return LAZY_FAILED;
  if (guarding > 0) return LAZY_DONE;
  setsid();
  /* A guard that has ended leaves a pipe without a reader. */
  signal(SIGPIPE, SIG_IGN);
  pid_t serving = fork();
  if (serving < 0) {
    end_sandbox();
    _exit(1);
  }
  if (serving == 0) {
    close(told[0]);
    /* Each fork of a process brings one. */
    struct rlimit limit = {2 * MOST_FORKS, 2 * MOST_FORKS};
    setrlimit(RLIMIT_NOFILE, &limit);
    struct rlimit memory = {MOST_BYTES, MOST_BYTES};
    setrlimit(RLIMIT_AS, &memory);
    _exit(serve(targets, told[1]));
  }
  close(told[1]);
  guard(targets, told[0], serving);
  return LAZY_DONE;
}

int lazy_memory(const char *plan) {
  static struct targets targets;
  int device = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
  if (device < 0) return LAZY_IMPOSSIBLE;
  if (read_plan(plan, &targets) < 0) return LAZY_FAILED;
  for (size_t i = 0; i < targets.count; i++) {
    struct target *target = &targets.all[i];
    target->fault = take_fault_descriptor(target->pid, device);
    if (target->fault < 0 || watch(target) < 0) {
      perror("lazy-memory");
      return LAZY_FAILED;
    }
  }
  close(device);
  return go_on_behind(&targets);
}
