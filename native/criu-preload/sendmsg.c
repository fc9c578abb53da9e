/*
 * A library that is loaded before CRIU's own for a dump. It replaces one call: CRIU asks the kernel for the tracked connections of the sandbox's
 * network namespace, twice, although the namespace is not dumped (--empty-ns net), and has no option against that. The connections of all namespaces
 * are in one table of the machine, and each answer takes a walk through all its rows, 2^18 and more: 9 ms. So this question, and no other, becomes
 * one that the kernel confirms at once. CRIU takes that for an empty list.
 *
 * It uses nothing of a C library, so that it fits any.
 */
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <linux/netlink.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>

struct question {
  struct nlmsghdr head;
  struct nfgenmsg about;
};

extern int *__errno_location(void);

static long system_call(long number, long a, long b, long c) {
#if defined __x86_64__
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "0"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
#elif defined __aarch64__
  register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
  return x0;
#else
#error "no system calls for this processor"
#endif
}

static int asks_for_connections(const struct msghdr *message) {
  if (message->msg_iovlen != 1 || message->msg_iov->iov_len != sizeof(struct question) || message->msg_namelen != sizeof(struct sockaddr_nl)) return 0;
  if (((const struct sockaddr *)message->msg_name)->sa_family != AF_NETLINK) return 0;
  const struct nlmsghdr *head = message->msg_iov->iov_base;
  return head->nlmsg_len == sizeof(struct question) && head->nlmsg_type == (NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_GET) &&
         head->nlmsg_flags == (NLM_F_REQUEST | NLM_F_DUMP);
}

ssize_t sendmsg(int socket, const struct msghdr *message, int flags) {
  if (asks_for_connections(message)) {
    struct nlmsghdr *head = message->msg_iov->iov_base;
    head->nlmsg_type = NLMSG_NOOP;
    head->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
  }
  long result = system_call(SYS_sendmsg, socket, (long)message, flags);
  if (result >= 0) return result;
  *__errno_location() = (int)-result;
  return -1;
}
