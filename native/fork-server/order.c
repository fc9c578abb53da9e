/*
 * An order is a head, its steps, and data: texts, structures and room for results, which steps name by offset. No input makes this code read
 * outside of the order, and an order that passes can be run without further checks. All numbers are little-endian, as on every supported machine.
 */
#include <string.h>

#include "fork-server.h"

size_t order_size(const struct head *head) {
  return head->size < sizeof *head || head->size > MAX_ORDER ? 0 : head->size;
}

static enum argument kind_of(const struct step *step, int argument) {
  return (enum argument)(step->kinds >> (2 * argument) & 3);
}

/* True when `size` bytes at this offset lie in the data. */
static int is_in_data(const struct order *order, int64_t offset, size_t size) {
  return offset >= 0 && (uint64_t)offset <= order->data_size && size <= order->data_size - (uint64_t)offset;
}

static int is_argument_fine(const struct order *order, const struct step *step, size_t place, int argument) {
  int64_t value = step->arguments[argument];
  switch (kind_of(step, argument)) {
  case IMMEDIATE:
    return 1;
  case RESULT: /* of an earlier step only */
    return value >= 0 && (uint64_t)value < place;
  case DATA:
    return is_in_data(order, value, 1);
  case LOADED:
    return value % (int64_t)sizeof(int32_t) == 0 && is_in_data(order, value, sizeof(int32_t));
  }
  return 0;
}

/* True when `count` texts begin at this offset, each ended within the data. */
static int are_texts(const struct order *order, int64_t offset, int64_t count) {
  if (count < 0 || count > MAX_TEXTS || !is_in_data(order, offset, count > 0)) return 0;
  const char *text = order->data + offset, *end = order->data + order->data_size;
  for (; count > 0; count--) {
    const char *nul = text < end ? memchr(text, 0, (size_t)(end - text)) : NULL;
    if (!nul) return 0;
    text = nul + 1;
  }
  return 1;
}

/* Arguments: where the program's texts begin (its file first) and how many there are; the same of its environment. It is the last step. */
static int is_execute_fine(const struct order *order, const struct step *step, size_t place) {
  const int64_t *given = step->arguments;
  return step->kinds == 0 && place == order->step_count - 1 && given[1] > 0 && are_texts(order, given[0], given[1]) &&
         are_texts(order, given[2], given[3]);
}

/* Arguments: the offset of eight bytes in the data, aligned; the value. */
static int is_store_fine(const struct order *order, const struct step *step) {
  return kind_of(step, 0) == IMMEDIATE && step->arguments[0] % 8 == 0 && is_in_data(order, step->arguments[0], sizeof(int64_t));
}

/* Argument: where the text of its map begins. */
static int is_user_namespace_fine(const struct order *order, const struct step *step) {
  return step->kinds == 0 && are_texts(order, step->arguments[0], 1);
}

static int is_step_fine(const struct order *order, size_t place) {
  const struct step *step = &order->steps[place];
  for (int argument = 0; argument < ARGUMENTS; argument++)
    if (!is_argument_fine(order, step, place, argument)) return 0;
  switch (step->number) {
  case STEP_EXECUTE:
    return is_execute_fine(order, step, place);
  case STEP_STORE:
    return is_store_fine(order, step);
  case STEP_USER_NAMESPACE:
    return is_user_namespace_fine(order, step);
  default:
    return step->number >= 0;
  }
}

int parse_order(char *bytes, size_t size, struct order *order) {
  struct head head;
  if (size < sizeof head) return -1;
  memcpy(&head, bytes, sizeof head);
  order->id = head.id; /* for the answer, whatever else is wrong */
  if (order_size(&head) != size || head.version != VERSION) return -1;
  if (head.kind < ORDER_RUN || head.kind > ORDER_KILL || head.step_count > MAX_STEPS || head.wants_pid > 1) return -1;
  size_t steps = head.step_count * sizeof(struct step);
  if (steps > size - sizeof head || head.data_size != size - sizeof head - steps) return -1;
  order->kind = (enum order_kind)head.kind;
  order->wants_pid = head.wants_pid;
  order->steps = (struct step *)(void *)(bytes + sizeof head);
  order->step_count = head.step_count;
  order->data = bytes + sizeof head + steps;
  order->data_size = head.data_size;
  order->cgroup = NULL;
  /* So every text in the data has an end. */
  if (head.data_size > 0 && order->data[head.data_size - 1]) return -1;
  if (head.cgroup != NO_CGROUP) {
    if (head.cgroup >= head.data_size) return -1;
    order->cgroup = order->data + head.cgroup;
  }
  for (size_t place = 0; place < order->step_count; place++)
    if (!is_step_fine(order, place)) return -1;
  return 0;
}
