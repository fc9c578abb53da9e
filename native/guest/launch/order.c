/* Orders as texts, each ended by NUL: ID TTY CGROUP UID GID GROUPS CWD ARGC CMD [ARG...] [NAME=VALUE...] */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "launch.h"

enum { HEAD = 8 };

static int parse_id(const char *text, const char **end, uint32_t *id) {
  if (*text < '0' || *text > '9') return -1;
  char *stop;
  errno = 0;
  unsigned long value = strtoul(text, &stop, 10);
  if (errno || value >= UINT32_MAX) return -1; /* the largest id means "leave it" to the kernel */
  *id = (uint32_t)value;
  *end = stop;
  return 0;
}

static int parse_one_id(const char *text, uint32_t *id) {
  const char *end;
  return parse_id(text, &end, id) || *end ? -1 : 0;
}

static int parse_groups(const char *text, struct order *order) {
  if (!strcmp(text, "-")) return 0;
  for (;;) {
    const char *end;
    if (order->group_count == MAX_GROUPS || parse_id(text, &end, &order->groups[order->group_count])) return -1;
    order->group_count++;
    if (!*end) return 0;
    if (*end != ',') return -1;
    text = end + 1;
  }
}

static size_t count_texts(const char *bytes, size_t size) {
  size_t count = 0;
  for (const char *end = bytes + size; bytes < end; bytes += strlen(bytes) + 1) count++;
  return count;
}

int parse_order(char *bytes, size_t size, struct order *order) {
  order->id = "0";
  order->group_count = 0;
  order->command = NULL;
  if (size == 0 || bytes[size - 1]) return -1;
  order->id = bytes;
  size_t count = count_texts(bytes, size);
  if (count <= HEAD) return -1;
  char *head[HEAD];
  for (size_t i = 0; i < HEAD; i++, bytes += strlen(bytes) + 1) head[i] = bytes;
  order->wants_tty = !strcmp(head[1], "t");
  order->cgroup = head[2];
  order->cwd = head[6];
  uint32_t argc;
  if (parse_one_id(head[3], &order->uid) || parse_one_id(head[4], &order->gid) || parse_groups(head[5], order)) return -1;
  if (parse_one_id(head[7], &argc) || argc == 0 || argc > count - HEAD) return -1;
  char **texts = malloc((count - HEAD + 2) * sizeof *texts); /* each of the two lists ends with NULL */
  if (!texts) return -1;
  order->command = texts;
  order->environment = texts + argc + 1;
  for (size_t i = 0; i < count - HEAD; i++, bytes += strlen(bytes) + 1) texts[i < argc ? i : i + 1] = bytes;
  texts[argc] = NULL;
  texts[count - HEAD + 1] = NULL;
  return 0;
}

void forget_order(struct order *order) {
  free(order->command);
  order->command = NULL;
}
