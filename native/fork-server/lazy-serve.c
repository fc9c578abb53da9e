/* How `lazy-memory` answers faults and follows what processes do to their memory, userfaultfd(2). */
#define _GNU_SOURCE
#include "lazy.h"

#include <errno.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
  PAGE = 4096,
  CHUNK = 256 * 1024, /* copied ahead at a time; as long as that, a fault waits */
  NEAR = 64 * 1024, /* copied for a fault */
  FULL_MS = 10, /* until the next try, when the sandbox has no memory left */
};

static char buffer[CHUNK];
static unsigned forks;

void add_piece(struct pieces *pieces, struct piece piece) {
  if (piece.length == 0) return;
  if (pieces->count == pieces->room) {
    pieces->room = pieces->room ? 2 * pieces->room : 16;
    pieces->all = realloc(pieces->all, pieces->room * sizeof *pieces->all);
    if (!pieces->all) _exit(LAZY_FAILED);
  }
  pieces->all[pieces->count++] = piece;
}

struct target *add_target(struct targets *targets) {
  if (targets->count == targets->room) {
    targets->room = targets->room ? 2 * targets->room : 8;
    targets->all = realloc(targets->all, targets->room * sizeof *targets->all);
    if (!targets->all) _exit(LAZY_FAILED);
  }
  struct target *target = &targets->all[targets->count++];
  *target = (struct target){.fault = -1, .number = -1};
  return target;
}

/* Takes a range out of the pieces. With `moved`, what lay in it goes there, at the same distance. */
static void take_out(struct pieces *pieces, uint64_t start, uint64_t end, struct pieces *moved, uint64_t to) {
  size_t count = pieces->count;
  for (size_t i = 0; i < count; i++) {
    struct piece piece = pieces->all[i];
    uint64_t piece_end = piece.address + piece.length;
    uint64_t from = piece.address > start ? piece.address : start, until = piece_end < end ? piece_end : end;
    if (from >= until) continue;
    if (moved) add_piece(moved, (struct piece){to + (from - start), until - from, piece.offset + (from - piece.address)});
    pieces->all[i].length = from - piece.address;
    add_piece(pieces, (struct piece){until, piece_end - until, piece.offset + (until - piece.address)});
  }
  for (size_t i = 0; i < pieces->count;) {
    if (pieces->all[i].length > 0) i++;
    else pieces->all[i] = pieces->all[--pieces->count];
  }
}

static struct piece *piece_at(struct pieces *pieces, uint64_t address) {
  for (size_t i = 0; i < pieces->count; i++)
    if (address - pieces->all[i].address < pieces->all[i].length) return &pieces->all[i];
  return NULL;
}

/* The target is done, or has ended: its memory is like any other from now on. */
static void let_go(struct target *target, int told) {
  close(target->fault);
  target->fault = -1;
  free(target->missing.all);
  target->missing = (struct pieces){0};
  /* The guard, which has the descriptor too, closes it then. */
  if (target->number >= 0) {
    unsigned char number = (unsigned char)target->number;
    if (write(told, &number, 1) < 0) { /* nobody is there to be told */ }
  }
}

enum outcome { COPIED, AGAIN, FULL, ENDED, BROKEN };

/* Copies the range, which is within one missing piece. What is there already stays. */
static enum outcome copy(struct target *target, uint64_t address, uint64_t length, uint64_t offset) {
  for (uint64_t read_bytes = 0; read_bytes < length;) {
    ssize_t got = pread(target->pages, buffer + read_bytes, length - read_bytes, (off_t)(offset + read_bytes));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return BROKEN;
    read_bytes += (uint64_t)got;
  }
  uint64_t most = length; /* of one order */
  for (uint64_t done = 0; done < length;) {
    uint64_t part = length - done < most ? length - done : most;
    struct uffdio_copy order = {.dst = address + done, .src = (uint64_t)(uintptr_t)buffer + done, .len = part};
    int result = fault_ioctl(target->fault, UFFDIO_COPY, &order), why = errno;
    if (order.copy > 0) done += (uint64_t)order.copy;
    if (done > 0) take_out(&target->missing, address, address + done, NULL, 0);
    if (result == 0 || order.copy > 0) continue;
    /* No event tells that a mapping was divided (mprotect, madvise), and the kernel refuses what is not within one. */
    if (why == ENOENT && part > PAGE) {
      most = PAGE;
      continue;
    }
    if (why == EEXIST || why == ENOENT) done += PAGE; /* it is there, or is no memory any more */
    else if (why == EAGAIN) return AGAIN;
    else if (why == ENOMEM) return FULL;
    else if (why == ESRCH || why == ENOSPC) return ENDED;
    else return BROKEN;
    take_out(&target->missing, address, address + done, NULL, 0);
  }
  return COPIED;
}

static enum outcome bring(struct target *target, uint64_t address) {
  struct piece *piece = piece_at(&target->missing, address);
  if (piece) {
    uint64_t start = address & ~(uint64_t)(NEAR - 1), end = start + NEAR;
    if (start < piece->address) start = piece->address;
    if (end > piece->address + piece->length) end = piece->address + piece->length;
    return copy(target, start, end - start, piece->offset + (start - piece->address));
  }
  struct uffdio_zeropage order = {.range = {address, PAGE}};
  if (fault_ioctl(target->fault, UFFDIO_ZEROPAGE, &order) == 0) return COPIED;
  if (errno == EAGAIN) return AGAIN;
  if (errno == ENOMEM) return FULL;
  return errno == ESRCH ? ENDED : AGAIN;
}

static enum outcome answer_fault(struct target *target, uint64_t address) {
  address &= ~(uint64_t)(PAGE - 1);
  enum outcome outcome = bring(target, address);
  /* Asks again, or finds the page there. */
  struct uffdio_range range = {address, PAGE};
  if (outcome != ENDED) fault_ioctl(target->fault, UFFDIO_WAKE, &range);
  return outcome;
}

static void copy_pieces(struct pieces *to, const struct pieces *from) {
  for (size_t i = 0; i < from->count; i++) add_piece(to, from->all[i]);
}

/* Reads one event, when there is one. The process that caused it goes on only then. */
static enum outcome hear(struct targets *targets, size_t place) {
  struct target *target = &targets->all[place];
  struct uffd_msg message;
  ssize_t got = read(target->fault, &message, sizeof message);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return COPIED;
  /* For example a fork for whose descriptor there is no room: what it was about is lost. */
  if (got != sizeof message) return BROKEN;
  switch (message.event) {
    case UFFD_EVENT_PAGEFAULT: return answer_fault(target, message.arg.pagefault.address);
    case UFFD_EVENT_REMOVE:
    case UFFD_EVENT_UNMAP: take_out(&target->missing, message.arg.remove.start, message.arg.remove.end, NULL, 0); return COPIED;
    case UFFD_EVENT_REMAP: {
      struct pieces moved = {0};
      uint64_t from = message.arg.remap.from, to = message.arg.remap.to, length = message.arg.remap.len;
      take_out(&target->missing, from, from + length, &moved, to);
      take_out(&target->missing, to, to + length, NULL, 0);
      copy_pieces(&target->missing, &moved);
      free(moved.all);
      return COPIED;
    }
    case UFFD_EVENT_FORK: {
      if (++forks > MOST_FORKS) return BROKEN;
      struct target *child = add_target(targets);
      target = &targets->all[place];
      child->fault = (int)message.arg.fork.ufd;
      child->pages = target->pages;
      copy_pieces(&child->missing, &target->missing);
      return COPIED;
    }
    default: return COPIED;
  }
}

static void drop_done(struct targets *targets) {
  for (size_t i = 0; i < targets->count;) {
    if (targets->all[i].fault >= 0) i++;
    else targets->all[i] = targets->all[--targets->count];
  }
}

/* Everything that was asked comes before the next piece. False when this cannot go on. */
static int hear_all(struct targets *targets, int told) {
  static struct pollfd *watched;
  static size_t room;
  if (targets->count > room) {
    room = 2 * targets->count;
    watched = realloc(watched, room * sizeof *watched);
    if (!watched) return 0;
  }
  size_t count = targets->count;
  for (size_t i = 0; i < count; i++) watched[i] = (struct pollfd){.fd = targets->all[i].fault, .events = POLLIN};
  if (poll(watched, count, 0) < 0 && errno != EINTR) return 0;
  for (size_t i = 0; i < count; i++) {
    if (!watched[i].revents) continue;
    enum outcome outcome = watched[i].revents & POLLIN ? hear(targets, i) : BROKEN;
    if (outcome == BROKEN) return 0;
    if (outcome == ENDED) let_go(&targets->all[i], told);
    if (outcome == FULL) usleep(FULL_MS * 1000);
  }
  return 1;
}

int serve(struct targets *targets, int told) {
  for (size_t next = 0; targets->count > 0; next++) {
    if (!hear_all(targets, told)) return LAZY_FAILED;
    drop_done(targets);
    if (targets->count == 0) break;
    struct target *target = &targets->all[next % targets->count];
    if (target->missing.count == 0) {
      let_go(target, told);
      drop_done(targets);
      continue;
    }
    struct piece piece = target->missing.all[0];
    uint64_t length = piece.length < CHUNK ? piece.length : CHUNK;
    enum outcome outcome = copy(target, piece.address, length, piece.offset);
    if (outcome == BROKEN) return LAZY_FAILED;
    if (outcome == ENDED) let_go(target, told);
    if (outcome == FULL) usleep(FULL_MS * 1000);
    drop_done(targets);
  }
  return LAZY_DONE;
}
