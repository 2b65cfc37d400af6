/* The sessions of a web server: by token, and by the time at which they end, so that those that have ended are found without
 * a look at the others. A restart of the server, or a kill, logs nobody out. */
#include <endura.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static endura_pool pool;
static endura_map sessions; /* token: user */
static endura_map ends;     /* time and token: nothing */

static endura_status must(endura_status status) {
  if (status < 0) {
    fprintf(stderr, "%s: %s\n", endura_status_name(status), endura_last_error());
    exit(1);
  }
  return status;
}

static endura_slice text(const char *text) {
  endura_slice slice;
  slice.data = text;
  slice.len = strlen(text);
  return slice;
}

/* The key (time, token), whose type is (u64, str): the time from its largest byte down, then the text and its end. */
static endura_slice end_key(char *room, uint64_t time, const char *token) {
  endura_slice key;
  int i;
  for (i = 0; i < 8; i++) room[i] = (char)(time >> (56 - 8 * i));
  strcpy(room + 8, token);
  key.len = 8 + strlen(token) + 2;
  room[key.len - 1] = 1;
  key.data = room;
  return key;
}

/* A session is in both maps or in none, whatever happens to the process meanwhile. */
static void begin(const char *token, const char *user, uint64_t end) {
  char room[64];
  endura_slice nothing = { NULL, 0 };
  endura_batch batch;
  must(endura_batch_begin(pool, &batch));
  must(endura_batch_put(batch, sessions, text(token), text(user)));
  must(endura_batch_put(batch, ends, end_key(room, end, token), nothing));
  must(endura_batch_commit(batch, NULL));
  must(endura_batch_release(batch));
}

/* Removes what ended before a time. */
static int sweep(uint64_t now) {
  char room[64];
  int swept = 0;
  endura_slice until = end_key(room, now, ""), key;
  endura_iter iter;
  endura_batch batch;
  must(endura_batch_begin(pool, &batch));
  must(endura_range(ends, NULL, &until, ENDURA_KEYS_ONLY, &iter));
  while (must(endura_next(iter, &key, NULL)) == ENDURA_OK) {
    const char *bytes = key.data;
    must(endura_batch_delete(batch, ends, key));
    must(endura_batch_delete(batch, sessions, text(bytes + 8)));
    swept++;
  }
  must(endura_iter_release(iter));
  must(endura_batch_commit(batch, NULL));
  must(endura_batch_release(batch));
  return swept;
}

static void open_all(const char *path) {
  endura_options options = ENDURA_OPTIONS;
  options.lock_timeout_ms = 5000; /* the server before this one may still be ending */
  must(endura_open(path, &options, &pool));
  must(endura_map_open(pool, "sessions", "str", "str", NULL, &sessions));
  must(endura_map_open(pool, "ends of sessions", "(u64, str)", "()", NULL, &ends));
}

int main(int count, char **arguments) {
  const char *path = count > 1 ? arguments[1] : "sessions.endura";
  endura_buf user = ENDURA_BUF;
  uint64_t left;
  open_all(path);
  begin("a1b2", "ada", 100);
  begin("c3d4", "alan", 200);
  begin("e5f6", "grace", 300);
  must(endura_close(pool));

  open_all(path); /* the next server */
  if (must(endura_get(sessions, text("c3d4"), &user)) != ENDURA_OK || strcmp(user.data, "alan") != 0) return 1;
  if (sweep(250) != 2) return 1;
  if (must(endura_get(sessions, text("c3d4"), &user)) != ENDURA_ABSENT) return 1;
  must(endura_len(sessions, &left));
  printf("%" PRIu64 " session is left\n", left);
  endura_buf_free(&user);
  must(endura_close(pool));
  return left == 1 ? 0 : 1;
}
