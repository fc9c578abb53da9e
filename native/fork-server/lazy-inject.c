/*
 * Only a process itself can make a userfaultfd of its memory, and only a privileged one gets one that answers the kernel's own accesses too. A process of a
 * sandbox is not privileged; but who has /dev/userfaultfd open may ask it for one. So the process is stopped (ptrace) where it waits for CRIU, and made to
 * take that descriptor over a socket in its own network namespace, to ask it, and to close both again. If this program ends in between, the process
 * does too (PTRACE_O_EXITKILL): none runs on with foreign registers or descriptors.
 */
#define _GNU_SOURCE
#include "lazy.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __x86_64__

enum { NEW_FAULT_DESCRIPTOR = 0xAA00 /* USERFAULTFD_IOC_NEW */, BELOW_STACK = 2048, TRIES = 5000, EXITKILL = 0x100000 };

struct injection {
  pid_t pid;
  struct user_regs_struct before;
  uint64_t scratch;
};

/* Structures as the process gets them: one write, then addresses within it. */
struct scratch {
  struct sockaddr_un address;
  struct msghdr message;
  struct iovec part;
  char control[CMSG_SPACE(sizeof(int))];
  char byte;
};

static int put(const struct injection *in, const struct scratch *scratch) {
  struct iovec from = {(void *)scratch, sizeof *scratch}, to = {(void *)in->scratch, sizeof *scratch};
  return process_vm_writev(in->pid, &from, 1, &to, 1, 0) == sizeof *scratch ? 0 : -1;
}

static int get(const struct injection *in, struct scratch *scratch) {
  struct iovec to = {scratch, sizeof *scratch}, from = {(void *)in->scratch, sizeof *scratch};
  return process_vm_readv(in->pid, &to, 1, &from, 1, 0) == sizeof *scratch ? 0 : -1;
}

static int wait_stopped(pid_t pid) {
  int status;
  if (waitpid(pid, &status, __WALL) != pid) return -1;
  if (WIFSTOPPED(status)) return 0;
  errno = ESRCH;
  return -1;
}

/* Makes the process call the kernel; its result, or -1 with errno. */
static long call(const struct injection *in, long number, uint64_t a, uint64_t b, uint64_t c) {
  struct user_regs_struct regs = in->before;
  regs.rax = (uint64_t)number;
  regs.orig_rax = (uint64_t)-1; /* the interrupted call is not repeated now */
  regs.rip = in->before.rip - 2;
  regs.rdi = a;
  regs.rsi = b;
  regs.rdx = c;
  if (ptrace(PTRACE_SETREGS, in->pid, 0, &regs) < 0 || ptrace(PTRACE_SINGLESTEP, in->pid, 0, 0) < 0 || wait_stopped(in->pid) < 0) return -1;
  if (ptrace(PTRACE_GETREGS, in->pid, 0, &regs) < 0) return -1;
  long result = (long)regs.rax;
  if (result >= 0 || result < -4095) return result;
  errno = (int)-result;
  return -1;
}

/* Stops the process in a system call, whose instruction can then be used. */
static int stop(struct injection *in) {
  if (ptrace(PTRACE_SEIZE, in->pid, 0, EXITKILL) < 0) return -1;
  for (int tries = 0; tries < TRIES; tries++) {
    if (ptrace(PTRACE_INTERRUPT, in->pid, 0, 0) < 0 || wait_stopped(in->pid) < 0) return -1;
    if (ptrace(PTRACE_GETREGS, in->pid, 0, &in->before) < 0) return -1;
    uint16_t instruction = 0;
    struct iovec to = {&instruction, sizeof instruction}, from = {(void *)(in->before.rip - 2), sizeof instruction};
    int is_there = process_vm_readv(in->pid, &to, 1, &from, 1, 0) == sizeof instruction && instruction == 0x050f;
    if ((long)in->before.orig_rax >= 0 && is_there) {
      in->scratch = (in->before.rsp - BELOW_STACK) & ~(uint64_t)15;
      return 0;
    }
    if (ptrace(PTRACE_CONT, in->pid, 0, 0) < 0) return -1;
    usleep(1000);
  }
  errno = ETIMEDOUT;
  return -1;
}

/* A socket that listens in the process's network namespace, where nothing else runs yet. */
static int listen_beside(pid_t pid, struct sockaddr_un *address, socklen_t *length) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/ns/net", pid);
  int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), theirs = open(path, O_RDONLY | O_CLOEXEC), listening = -1;
  if (own >= 0 && theirs >= 0 && setns(theirs, CLONE_NEWNET) == 0) {
    listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (setns(own, CLONE_NEWNET) < 0) _exit(LAZY_FAILED);
  }
  close(own);
  close(theirs);
  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  /* An abstract name: the first byte is 0. */
  int name = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "boxyard-lazy-%d", getpid());
  *length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)name);
  if (listening >= 0 && bind(listening, (struct sockaddr *)address, *length) == 0 && listen(listening, 1) == 0) return listening;
  close(listening);
  return -1;
}

static int send_descriptor(int listening, int descriptor) {
  int peer = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
  if (peer < 0) return -1;
  char byte = 0, control[CMSG_SPACE(sizeof(int))] = {0};
  struct iovec part = {&byte, 1};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  struct cmsghdr *head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(head), &descriptor, sizeof descriptor);
  int result = sendmsg(peer, &message, MSG_NOSIGNAL) == 1 ? 0 : -1;
  close(peer);
  return result;
}

/* The number of the descriptor that the process has received. */
static int received(const struct injection *in, struct scratch *scratch, int socket) {
  uint64_t at = in->scratch;
  memset(&scratch->message, 0, sizeof scratch->message);
  scratch->part = (struct iovec){(void *)(at + offsetof(struct scratch, byte)), 1};
  scratch->message.msg_iov = (void *)(at + offsetof(struct scratch, part));
  scratch->message.msg_iovlen = 1;
  scratch->message.msg_control = (void *)(at + offsetof(struct scratch, control));
  scratch->message.msg_controllen = sizeof scratch->control;
  if (put(in, scratch) < 0) return -1;
  if (call(in, SYS_recvmsg, (uint64_t)socket, at + offsetof(struct scratch, message), MSG_CMSG_CLOEXEC) < 0 || get(in, scratch) < 0) return -1;
  int descriptor = -1;
  memcpy(&descriptor, scratch->control + CMSG_LEN(0), sizeof descriptor);
  return descriptor;
}

static int take(const struct injection *in, int listening, const struct sockaddr_un *address, socklen_t length, int device) {
  struct scratch scratch = {.address = *address};
  if (put(in, &scratch) < 0) return -1;
  int socket = (int)call(in, SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), theirs = -1, fault = -1, own = -1;
  if (socket < 0) return -1;
  if (call(in, SYS_connect, (uint64_t)socket, in->scratch, length) == 0 && send_descriptor(listening, device) == 0) theirs = received(in, &scratch, socket);
  if (theirs >= 0) fault = (int)call(in, SYS_ioctl, (uint64_t)theirs, NEW_FAULT_DESCRIPTOR, O_CLOEXEC | O_NONBLOCK);
  if (fault >= 0) {
    int process = (int)syscall(SYS_pidfd_open, in->pid, 0);
    own = (int)syscall(SYS_pidfd_getfd, process, fault, 0);
    close(process);
  }
  int why = errno;
  /* What stays open inside would give the sandbox more than it may have. */
  int opened[] = {fault, theirs, socket};
  for (size_t i = 0; i < 3; i++) if (opened[i] >= 0 && call(in, SYS_close, (uint64_t)opened[i], 0, 0) < 0) _exit(LAZY_FAILED);
  errno = why;
  return own;
}

int take_fault_descriptor(pid_t pid, int device) {
  struct sockaddr_un address;
  socklen_t length;
  int listening = listen_beside(pid, &address, &length);
  if (listening < 0) return -1;
  struct injection in = {.pid = pid};
  int own = stop(&in) == 0 ? take(&in, listening, &address, length, device) : -1;
  int why = errno;
  close(listening);
  /* With its old registers the process repeats the call that it waited in. A failure here ends it, when this program ends. */
  if (ptrace(PTRACE_SETREGS, pid, 0, &in.before) < 0 || ptrace(PTRACE_DETACH, pid, 0, 0) < 0) return -1;
  errno = why;
  return own;
}

#else

int take_fault_descriptor(pid_t pid, int device) {
  (void)pid;
  (void)device;
  errno = ENOSYS;
  return -1;
}

#endif
