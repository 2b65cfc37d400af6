/* Counters that many threads increment, and a log of totals: no lock, and no count that returned is lost by a kill. */
#define _POSIX_C_SOURCE 200809L
#include <endura.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, EACH = 5000, PAGES = 16 };

static endura_map hits; /* page: how often it was read */

static endura_status must(endura_status status) {
  if (status < 0) {
    fprintf(stderr, "%s: %s\n", endura_status_name(status), endura_last_error());
    exit(1);
  }
  return status;
}

static void *read_pages(void *argument) {
  unsigned state = *(unsigned *)argument;
  int i;
  for (i = 0; i < EACH; i++) {
    char page[32];
    endura_slice key;
    state = state * 1103515245u + 12345u;
    key.len = (size_t)snprintf(page, sizeof page, "/page/%u", (state >> 16) % PAGES);
    key.data = page;
    must(endura_incr(hits, key, 1, 0, NULL));
  }
  return NULL;
}

static int add_up(void *context, endura_slice key, endura_slice value) {
  const unsigned char *bytes = value.data;
  uint64_t count = 0;
  size_t i;
  for (i = 0; i < value.len; i++) count = count << 8 | bytes[i];
  *(uint64_t *)context += count;
  printf("%.*s %" PRIu64 "\n", (int)key.len, (const char *)key.data, count);
  return 0;
}

int main(int count, char **arguments) {
  endura_pool pool;
  pthread_t threads[THREADS];
  unsigned seeds[THREADS];
  uint64_t total = 0;
  int i;
  must(endura_open(count > 1 ? arguments[1] : "hits.endura", NULL, &pool));
  must(endura_map_open(pool, "hits", "str", "u64", NULL, &hits));
  must(endura_clear(hits));
  for (i = 0; i < THREADS; i++) {
    seeds[i] = (unsigned)i;
    if (pthread_create(&threads[i], NULL, read_pages, &seeds[i]) != 0) return 1;
  }
  for (i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  must(endura_visit(hits, NULL, NULL, 0, add_up, &total));
  must(endura_close(pool));
  return total == THREADS * EACH ? 0 : 1;
}
