/* What the parts of the fork server share. main.c describes the protocol, order.c the form of an order. */
#ifndef FORK_SERVER_H
#define FORK_SERVER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
  VERSION = 1,
  MAX_ORDER = 4 * 1024 * 1024, /* bytes; the kernel takes about as much of arguments and environment */
  MAX_STEPS = 1024,
  MAX_TEXTS = 128 * 1024, /* arguments of a program, and as many variables */
  ARGUMENTS = 6,
};

enum order_kind { ORDER_RUN = 1, ORDER_PARK = 2, ORDER_GO_ON = 3, ORDER_KILL = 4 };

/* What stands in `cgroup` of an order without one. */
#define NO_CGROUP UINT32_MAX

/* The head of an order, as it travels. */
struct head {
  uint32_t size; /* of the whole order, this head included */
  uint16_t version;
  uint8_t kind, wants_pid;
  uint32_t id;
  uint32_t cgroup; /* offset of a path in the data, or NO_CGROUP */
  uint32_t step_count;
  uint32_t data_size;
};

/* How an argument of a step is meant; two bits of `kinds` for each. */
enum argument { IMMEDIATE = 0, RESULT = 1, DATA = 2, LOADED = 3 };

/* A step that is no system call. */
enum special { STEP_EXECUTE = -1, STEP_STORE = -2, STEP_USER_NAMESPACE = -3 };

/* One step, as it travels. */
struct step {
  int32_t number; /* of a system call, or a special */
  uint32_t kinds;
  int64_t arguments[ARGUMENTS];
};

/* An order that parse_order has checked; it points into the bytes that it was read from. */
struct order {
  enum order_kind kind;
  int wants_pid;
  uint32_t id;
  const char *cgroup; /* NULL: none */
  struct step *steps;
  size_t step_count;
  char *data;
  size_t data_size;
};

/* What a child reports, in memory that the fork server shares with it. */
struct notice {
  int32_t failed_step; /* a place in the list, or one of enum failure */
  int32_t error;       /* 0: nothing has failed */
  int32_t successor;   /* process that goes on for a parked one; the kernel writes it before that process runs */
};

/* Failures before the first step. The numbers are part of the protocol. */
enum failure { FAILED_ORDER = -1, FAILED_CGROUP = -2, FAILED_CLONE = -3 };

/*
 * Checks an order of `size` bytes, which must be aligned to 8: every offset, count and reference in it is within bounds afterwards.
 * 0, or -1 when the order is malformed.
 */
int parse_order(char *bytes, size_t size, struct order *order);

/* Size of the order that begins with these bytes; 0 when the size is out of bounds. */
size_t order_size(const struct head *head);

/* Reads exactly `size` bytes. 0, or -1 at the end of the stream. */
int read_whole(int fd, void *buffer, size_t size);

/* clone3(2) with the flags, into the cgroup of this open directory (-1: none). -errno when it fails. */
long clone_into(uint64_t flags, int cgroup, int32_t *parent_tid);

/* In a child: runs the steps and ends. */
_Noreturn void run(const struct order *order, struct notice *notice);

/* In a child: runs the steps, reports that over `channel`, waits there for the next order, and runs it in a sibling. */
_Noreturn void park(const struct order *order, int channel, struct notice *notice);

/* In a child: closes every descriptor of the fork server's above 2 except `keep` (-1: none), which becomes descriptor 3. */
void close_all_but(int keep);

#endif
