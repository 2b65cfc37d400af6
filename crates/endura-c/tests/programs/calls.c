/* The functions of the header from C, right and wrong, under the sanitizers. */
#include <endura.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int line;

static void expect_at(int at, endura_status status, endura_status wanted) {
  line = at;
  if (status != wanted) {
    printf("line %d: %s in place of %s: %s\n", at, endura_status_name(status), endura_status_name(wanted), endura_last_error());
    exit(1);
  }
}
#define expect(status, wanted) expect_at(__LINE__, status, wanted)
#define check(condition) expect_at(__LINE__, (condition) ? ENDURA_OK : ENDURA_STOPPED, ENDURA_OK)

static endura_slice text(const char *text) {
  endura_slice slice;
  slice.data = text;
  slice.len = strlen(text);
  return slice;
}

static int count(void *context, endura_slice key, endura_slice value) {
  *(size_t *)context += key.len + value.len;
  return 0;
}

static void look(void *context, const void *value, size_t len) {
  memcpy(context, value, len);
}

static int found(void *context, size_t index, const endura_slice *value) {
  ((size_t *)context)[index] = value == NULL ? 99 : value->len;
  return 0;
}

static int move(void *context, endura_transaction transaction) {
  endura_map map = *(endura_map *)context;
  uint64_t value;
  expect(endura_transaction_get_u64(transaction, map, 1, &value), ENDURA_OK);
  expect(endura_transaction_put_u64(transaction, map, 2, value), ENDURA_OK);
  expect(endura_transaction_delete_u64(transaction, map, 1), ENDURA_OK);
  return 0;
}

static void numbers(endura_pool pool) {
  endura_map map;
  endura_pair_u64 pairs[3];
  uint64_t value = 0, expected = 11, desired = 12, keys[2] = { 5, 6 }, values[2];
  uint8_t is_there[2];
  size_t n;
  expect(endura_map_open(pool, "numbers", "u64", "i64", "NbTree", &map), ENDURA_OK);
  expect(endura_put_u64(map, 1, (uint64_t)-7), ENDURA_OK);
  expect(endura_get_u64(map, 1, &value), ENDURA_OK);
  check((int64_t)value == -7);
  expect(endura_transact(pool, move, &map), ENDURA_OK);
  expect(endura_get_u64(map, 1, &value), ENDURA_ABSENT);
  expect(endura_incr_u64(map, 3, 1, 10, &value), ENDURA_OK);
  expect(endura_cas_u64(map, 3, &expected, &desired, NULL), ENDURA_OK);
  expect(endura_put_many_u64(map, keys, keys, 2, &n), ENDURA_OK);
  expect(endura_get_many_u64(map, keys, 2, values, is_there), ENDURA_OK);
  check(values[1] == 6 && is_there[0] == 1);
  expect(endura_scan_u64(map, 3, 0, pairs, 3, &n), ENDURA_OK);
  check(n == 3 && pairs[0].value == 12 && pairs[2].key == 6);
  expect(endura_map_release(map), ENDURA_OK);
  expect(endura_get_u64(map, 1, &value), ENDURA_E_CLOSED);
}

static void texts(endura_pool pool) {
  endura_map map;
  endura_buf buf = ENDURA_BUF;
  endura_iter iter;
  endura_slice keys[2], key, value;
  char room[16] = { 0 };
  size_t len, lens[2], total = 0;
  expect(endura_map_open(pool, "texts", "str", "[u8]", NULL, &map), ENDURA_OK);
  keys[0] = text("ada");
  keys[1] = text("eve");
  expect(endura_put(map, keys[0], text("1815")), ENDURA_OK);
  expect(endura_get(map, keys[0], &buf), ENDURA_OK);
  check(strcmp(buf.data, "1815") == 0 && buf.len == 4);
  expect(endura_get(map, keys[1], &buf), ENDURA_ABSENT);
  expect(endura_get_into(map, keys[0], room, 3, &len), ENDURA_CUT);
  check(strcmp(room, "181") == 0 && len == 4);
  expect(endura_get_with(map, keys[0], look, room), ENDURA_OK);
  check(strcmp(room, "1815") == 0);
  expect(endura_get_many(map, keys, 2, found, lens), ENDURA_OK);
  check(lens[0] == 4 && lens[1] == 99);
  expect(endura_visit(map, NULL, NULL, 0, count, &total), ENDURA_OK);
  check(total == 7);
  expect(endura_prefix(map, text("a"), 0, &iter), ENDURA_OK);
  expect(endura_next(iter, &key, &value), ENDURA_OK);
  check(key.len == 3 && memcmp(value.data, "1815", 4) == 0);
  expect(endura_next(iter, &key, &value), ENDURA_END);
  expect(endura_remove(map, keys[0], &buf), ENDURA_OK);
  /* The iterator is left to the close of the pool. */
  endura_buf_free(&buf);
}

static void wrong(endura_pool pool, endura_map closed) {
  endura_map none = { 0 }, invented = { 0x123456789abcdef0u };
  endura_pool not_a_pool = { 77 };
  endura_map map;
  expect(endura_put_u64(none, 1, 1), ENDURA_E_HANDLE);
  expect(endura_put_u64(invented, 1, 1), ENDURA_E_HANDLE);
  expect(endura_put_u64(closed, 1, 1), ENDURA_E_CLOSED);
  expect(endura_checkpoint(not_a_pool), ENDURA_E_HANDLE);
  expect(endura_map_open(pool, NULL, NULL, NULL, NULL, &map), ENDURA_E_ARGUMENT);
  expect(endura_map_open(pool, "none", NULL, NULL, NULL, &map), ENDURA_E_NO_SUCH_MAP);
  expect(endura_map_open(pool, "numbers", "str", "str", NULL, &map), ENDURA_E_WRONG_TYPES);
  check(map.id == 0 && strlen(endura_last_error()) > 10);
}

int main(void) {
  endura_options options = ENDURA_OPTIONS;
  endura_pool pool;
  endura_map map;
  check(endura_version() == (ENDURA_VERSION_MAJOR << 16 | ENDURA_VERSION_MINOR << 8 | ENDURA_VERSION_PATCH));
  options.flags = ENDURA_CHECKPOINTS_ON_DEMAND;
  options.max_size = 64 << 20;
  expect(endura_open("calls.endura", &options, &pool), ENDURA_OK);
  expect(endura_map_open(pool, "one", "u64", "u64", NULL, &map), ENDURA_OK);
  expect(endura_map_release(map), ENDURA_OK);
  numbers(pool);
  texts(pool);
  wrong(pool, map);
  expect(endura_backup(pool, "copy.endura"), ENDURA_OK);
  expect(endura_verify(pool, NULL), ENDURA_OK);
  expect(endura_close(pool), ENDURA_OK);
  expect(endura_close(pool), ENDURA_E_CLOSED);
  expect(endura_open("nowhere/calls.endura", NULL, &pool), ENDURA_E_IO);
  check(endura_last_errno() == 2 && pool.id == 0);
  return 0;
}
