/* One operation COUNT times, for `.ci/c --instructions`: instructions OPERATION COUNT */
#include <endura.h>

#include <stdio.h>
#include <stdlib.h>

enum { LOADED = 10000 };

static endura_status must(endura_status status) {
  if (status < 0) {
    fprintf(stderr, "%s\n", endura_last_error());
    exit(1);
  }
  return status;
}

static uint64_t scattered(uint64_t i) { return i * 11400714819323198393u; }

int main(int count, char **arguments) {
  endura_options options = ENDURA_OPTIONS;
  endura_pool pool;
  endura_map numbers, texts;
  endura_slice key, value = { "0123456789abcdef01234567", 24 };
  char text[32], room[64];
  const char *operation, *kind;
  uint64_t i, n, found;
  size_t len;
  if (count != 3) return 2;
  operation = arguments[1];
  n = strtoull(arguments[2], NULL, 10);
  options.max_size = 1 << 30;
  options.flags = ENDURA_CHECKPOINTS_OFF;
  must(endura_open("instructions.endura", &options, &pool));
  must(endura_map_open(pool, "numbers", "u64", "u64", NULL, &numbers));
  must(endura_map_open(pool, "texts", "str", "str", NULL, &texts));
  key.data = text;
  for (i = 0; i < LOADED; i++) {
    must(endura_put_u64(numbers, scattered(i), i));
    key.len = (size_t)sprintf(text, "user:%012llu", (unsigned long long)(scattered(i) >> 24));
    must(endura_put(texts, key, value));
  }
  /* One letter, so that the choice costs little. */
  for (i = 0; i < n; i++) {
    switch (operation[0]) {
      case 'r': must(endura_map_kind(numbers, &kind)); break;
      case 'g': must(endura_get_u64(numbers, scattered(i % LOADED), &found)); break;
      case 'p': must(endura_put_u64(numbers, scattered(i % LOADED), i)); break;
      case 'G': must(endura_get_into(texts, key, room, sizeof room, &len)); break;
      case 'P': must(endura_put(texts, key, value)); break;
      default: break;
    }
  }
  must(endura_close(pool));
  return 0;
}
