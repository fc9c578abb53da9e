/* What the parts of `lazy-memory` share. lazy-memory.c describes it. */
#ifndef LAZY_H
#define LAZY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { LAZY_DONE = 0, LAZY_FAILED = 1, LAZY_IMPOSSIBLE = 3 };

/* Of processes whose memory is not there yet: without a bound, they could keep this program at work for ever. */
enum { MOST_FORKS = 4096 };

/* A piece of memory; `offset` is the place of its pages in the file. */
struct piece {
  uint64_t address, length, offset;
};

struct pieces {
  struct piece *all;
  size_t count, room;
};

/* One process with memory that is not there yet. */
struct target {
  pid_t pid; /* on the machine; 0 for one that was forked since */
  int fault; /* its userfaultfd, -1 when it is done or has ended */
  int pages; /* the file of its pages */
  int number; /* its place among those of the plan, -1 for one that was forked since */
  struct pieces watched; /* whole mappings, whose faults are answered */
  struct pieces missing; /* what has to be copied */
};

struct targets {
  struct target *all;
  size_t count, room;
};

/* Adds a piece; ends the process when there is no memory. */
void add_piece(struct pieces *pieces, struct piece piece);
struct target *add_target(struct targets *targets);

/* Makes the process open a userfaultfd of its own memory, takes it over and closes all that was open for this inside. -1 with errno on failure. */
int take_fault_descriptor(pid_t pid, int device);

/* Answers faults and copies what is missing until nothing is. Tells by `told` which targets of the plan are done. Returns LAZY_DONE or LAZY_FAILED. */
int serve(struct targets *targets, int told);

int lazy_memory(const char *plan);

/* `ioctl` of musl takes the request as `int`, which is too small for these. */
int fault_ioctl(int fault, unsigned long request, void *order);

#endif
