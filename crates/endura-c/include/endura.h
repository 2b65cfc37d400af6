/* endura.h: a persistent ordered map that you open instead of load.
 *
 * Statuses   0 is success, and nothing else is. A status above 0: the call did not do what its name says, and this is why
 *            (no such key, the end). Below 0: it failed and changed nothing, except where a comment says so;
 *            endura_last_error() has a sentence about it.
 * Handles    are numbers, checked at each use. A closed one is ENDURA_E_CLOSED, any other that names nothing is
 *            ENDURA_E_HANDLE. {0} is none: releasing it does nothing. endura_close() releases all handles of the pool.
 * Threads    Any function, from any thread, at any time. Iterators, batches and transactions serve one thread at a time;
 *            another one gets ENDURA_E_BUSY.
 * Memory     Arguments are read during the call only. Results are written to memory of yours or to an endura_buf, or, where
 *            a comment says so, lent. No result points into the pool.
 * Callbacks  run inside of the call. They may use any pool and any map, except that endura_close(), endura_checkpoint() and
 *            endura_backup() of their pool return ENDURA_E_INSIDE_OPERATION. They must return: an exception, longjmp() or
 *            pthread_exit() out of one ends the process or leaves the thread's next calls undefined.
 * Fork       In the child, handles of the parent are ENDURA_E_FORKED. It may open pools of its own.
 * Signals    No function may be called in a signal handler.
 * Exit       exit() closes what is open, for which it waits 2 s at most. A process that is killed loses nothing that had
 *            returned.
 */
#ifndef ENDURA_H
#define ENDURA_H

#include <stddef.h>
#include <stdint.h>

#define ENDURA_VERSION_MAJOR 0
#define ENDURA_VERSION_MINOR 1
#define ENDURA_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Statuses. A number never changes its meaning; later versions may add some. ---- */

typedef enum endura_status {
  ENDURA_OK = 0,
  ENDURA_ABSENT = 1,        /* there is no such key; the map is empty */
  ENDURA_PRESENT = 2,       /* endura_add: the key has a value, which stays */
  ENDURA_DIFFERENT = 3,     /* endura_cas: the key has another value */
  ENDURA_END = 4,           /* there is no further entry */
  ENDURA_CUT = 5,           /* the value is longer than the room for it */
  ENDURA_STOPPED = 6,       /* the callback did not return 0 */
  ENDURA_UNMET = 7,         /* endura_batch_commit: a condition does not hold, and nothing was changed */
  ENDURA_NO_CHECKPOINT = 8, /* endura_close: the pool is closed and whole, but no checkpoint could be made of its last
                               writes: a power loss in a later session may find an older one. endura_last_error() says why */

  ENDURA_E_HANDLE = -1,   /* this is no handle of the kind that the function takes */
  ENDURA_E_ARGUMENT = -2, /* NULL, unknown flags, text that is not UTF-8 */
  ENDURA_E_TYPE = -3,     /* the map's type does not have the number, or has no numbers */
  ENDURA_E_BUSY = -4,     /* another thread uses the iterator, the batch or the transaction */
  ENDURA_E_MEMORY = -5,
  ENDURA_E_PANIC = -6, /* a bug of endura: please report it */

  /* Errors of the library, whose names are these in lower case. The table in the guide says what each means. */
  ENDURA_E_CORRUPT = -16,
  ENDURA_E_FULL = -17,
  ENDURA_E_LOCKED = -18,
  ENDURA_E_FORKED = -19,
  ENDURA_E_NEEDS_RECOVERY = -20,
  ENDURA_E_NEEDS_RESTORE = -21,
  ENDURA_E_BAD_CHECKPOINT = -22,
  ENDURA_E_DISPLACED = -23,
  ENDURA_E_VERSION = -24,
  ENDURA_E_UNKNOWN_FEATURES = -25,
  ENDURA_E_NOT_A_POOL = -26,
  ENDURA_E_TRUNCATED = -27,
  ENDURA_E_KEY_TOO_LONG = -28,
  ENDURA_E_VALUE_TOO_LONG = -29,
  ENDURA_E_WRONG_TYPES = -30,
  ENDURA_E_WRONG_KIND = -31,
  ENDURA_E_OTHER_NODES = -32,
  ENDURA_E_ENCODE = -33,
  ENDURA_E_DECODE = -34,
  ENDURA_E_WRITE = -35,
  ENDURA_E_SHORT_VALUE = -36,
  ENDURA_E_UNKNOWN_NODES = -37,
  ENDURA_E_BAD_NAME = -38,
  ENDURA_E_BAD_TYPE_NAME = -39,
  ENDURA_E_NO_SUCH_MAP = -40,
  ENDURA_E_MAP_EXISTS = -41,
  ENDURA_E_POISONED = -42,
  ENDURA_E_DROPPED = -43,
  ENDURA_E_CLOSED = -44, /* also: the handle was closed or released */
  ENDURA_E_RECLAIM_STALLED = -45,
  ENDURA_E_RECURSIVE_UPDATE = -46,
  ENDURA_E_BATCH_TOO_LARGE = -47,
  ENDURA_E_OTHER_POOL = -48,
  ENDURA_E_CONTENDED = -49,
  ENDURA_E_INSIDE_OPERATION = -50,
  ENDURA_E_WRITERS_STAY = -51,
  ENDURA_E_READ_ONLY = -52,
  ENDURA_E_UNSUPPORTED = -53,
  ENDURA_E_IO = -54,

  ENDURA_STATUS_INT_ = 0x7fffffff /* no status: makes the type an int everywhere */
} endura_status;

const char *endura_last_error(void); /* the sentence of this thread's last status below 0, until its next one */
int endura_last_errno(void);         /* the errno of the same failure, or 0 */
const char *endura_status_name(endura_status status); /* "ok", "absent", "corrupt"; never NULL */
uint32_t endura_version(void);                        /* of the library: major << 16 | minor << 8 | patch */
uint32_t endura_format(void);                         /* of its files */

/* ---- Handles and memory ---- */

typedef struct { uint64_t id; } endura_pool;
typedef struct { uint64_t id; } endura_map;
typedef struct { uint64_t id; } endura_iter;
typedef struct { uint64_t id; } endura_batch;
typedef struct { uint64_t id; } endura_transaction;

typedef struct endura_slice {
  const void *data;
  size_t len;
} endura_slice;

/* Memory that calls fill, and enlarge where they must: one serves a whole loop. data[len] is 0. Begin with ENDURA_BUF. */
typedef struct endura_buf {
  char *data;
  size_t len, room;
} endura_buf;
#define ENDURA_BUF { NULL, 0, 0 }
void endura_buf_free(endura_buf *buf); /* it is empty then, and may be used or freed again */

/* ---- Pools ---- */

enum {
  ENDURA_READ_ONLY = 1,
  ENDURA_MUST_EXIST = 2,
  ENDURA_MUST_NOT_EXIST = 4,
  ENDURA_ACCEPT_UNCLEAN = 8, /* opens a pool that a power loss may have torn */
  ENDURA_NO_RESTORE = 16,    /* does not take a torn pool back to its checkpoint */
  ENDURA_ANY_FILESYSTEM = 32,
  ENDURA_READ_MOSTLY = 64,
  ENDURA_CHECKPOINTS_OFF = 128,
  ENDURA_CHECKPOINTS_ON_DEMAND = 256, /* by endura_checkpoint(), and at each close */
  ENDURA_CHECKPOINT_MUST_EXIST = 512
};

/* Gets the events of a pool, in a thread of its own, one after the other: the name ("grew", "checkpoint_failed") and facts
 * as JSON ({"code": "io", "in_a_row": 1}), both lent. After endura_close() has returned no call begins; it waits up to a second
 * for one that is running. */
typedef void (*endura_listen)(void *context, const char *event, const char *json);

typedef struct endura_options {
  size_t size;       /* sizeof(endura_options): later versions may have more fields */
  uint64_t max_size; /* in bytes of address space; 0: 1 TiB */
  uint32_t flags;
  uint32_t lock_timeout_ms;     /* how long to wait for a pool that is open elsewhere */
  uint32_t checkpoint_ms;       /* the interval; 0: as the pool has it, 30 s for a new one */
  uint32_t recovery_threads;    /* 0: one */
  const char *checkpoint_file;  /* NULL: as the pool has it, beside a new one */
  const char *const *settings;  /* names and values of further options in turn, then NULL: "media", "clwb", NULL */
  endura_listen on_event;       /* NULL: none */
  void *event_context;
} endura_options;
#define ENDURA_OPTIONS { sizeof(endura_options), 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL }

/* Opens a pool, and creates it if there is none. Options may be NULL. */
endura_status endura_open(const char *path, const endura_options *options, endura_pool *pool);
/* Waits for the running operations of other threads, some of which last as long as their callbacks; then syncs the pool, makes
 * its checkpoint, and releases all of its handles. After a failure the pool is closed as well, except after
 * ENDURA_E_INSIDE_OPERATION and ENDURA_E_FORKED. */
endura_status endura_close(endura_pool pool);
endura_status endura_checkpoint(endura_pool pool);
/* A copy of the pool as it is now, without stopping other threads. Nothing may exist at `to`. */
endura_status endura_backup(endura_pool pool, const char *to);
/* A copy of the last checkpoint of a pool that any process may have open. from: NULL for the one beside the pool. */
endura_status endura_backup_of_checkpoint(const char *path, const char *from, const char *to);
/* Copies all maps into a new pool, without the free space of this one. */
endura_status endura_compact(endura_pool pool, const char *to);
/* Takes a closed pool back to a checkpoint. from: NULL for the one beside it. keep_torn: the old file stays as PATH.torn. */
endura_status endura_restore(const char *path, const char *from, int keep_torn);
endura_status endura_verify(endura_pool pool, endura_buf *json); /* json: a report; may be NULL */
endura_status endura_recover_leaks(endura_pool pool);            /* frees what a kill has stranded, and returns then */
endura_status endura_stats_json(endura_pool pool, endura_buf *json);
endura_status endura_maps_json(endura_pool pool, endura_buf *json);
endura_status endura_rename(endura_pool pool, const char *from, const char *to);
endura_status endura_drop(endura_pool pool, const char *name); /* the map; ENDURA_ABSENT: there was none */

/* ---- Maps ---- */

/* key, value: types, by the names that pools record: u8 to u128, i8 to i128, f32, f64, bool, char, str, [u8], [u8; N],
 * Option<T>, Reverse<T>, (A, B), json. Both NULL: opens a map that is there, with the types that it has.
 * kind: FastFair, NbTree or Roart; NULL: what suits the types, or what the map has. */
endura_status endura_map_open(endura_pool pool, const char *name, const char *key, const char *value, const char *kind,
                              endura_map *map);
endura_status endura_map_release(endura_map map); /* the handle; the map stays */
endura_status endura_map_types(endura_map map, endura_buf *key, endura_buf *value);
endura_status endura_map_kind(endura_map map, const char **kind); /* a constant */
endura_status endura_len(endura_map map, uint64_t *len);
endura_status endura_approximate_len(endura_map map, uint64_t *len);
endura_status endura_clear(endura_map map);

/* ---- Flags of what has an order ---- */

enum {
  ENDURA_DESCENDING = 1,
  ENDURA_FROM_AFTER = 2,  /* without `from` itself */
  ENDURA_TO_INCLUDED = 4, /* with `to` itself */
  ENDURA_KEYS_ONLY = 8    /* values are not read, and shown as empty */
};

/* ---- Maps whose keys and values are integers of at most 64 bits. Signed ones go through (uint64_t) and back through
 * (int64_t). A pointer for a result may be NULL where none is wanted, except those of n and of popped keys. ---- */

endura_status endura_get_u64(endura_map map, uint64_t key, uint64_t *value);
endura_status endura_put_u64(endura_map map, uint64_t key, uint64_t value);
endura_status endura_add_u64(endura_map map, uint64_t key, uint64_t value); /* if the key has no value */
endura_status endura_replace_u64(endura_map map, uint64_t key, uint64_t value, uint64_t *old); /* if it has one */
endura_status endura_remove_u64(endura_map map, uint64_t key, uint64_t *old);
/* Sets the value to `desired` if it is `expected`; NULL is no value. Otherwise ENDURA_DIFFERENT and the value in `found`, or
 * ENDURA_ABSENT. */
endura_status endura_cas_u64(endura_map map, uint64_t key, const uint64_t *expected, const uint64_t *desired, uint64_t *found);
/* Adds delta; a key without a value counts as `initial`. ENDURA_E_TYPE: the type does not have the sum. */
endura_status endura_incr_u64(endura_map map, uint64_t key, int64_t delta, uint64_t initial, uint64_t *now);
endura_status endura_pop_u64(endura_map map, uint32_t flags, uint64_t *key, uint64_t *value); /* the first; DESCENDING */
/* found[i]: whether keys[i] is there. ENDURA_ABSENT: some are not. */
endura_status endura_get_many_u64(endura_map map, const uint64_t *keys, size_t n, uint64_t *values, uint8_t *found);
/* Puts entries in their order. After a failure the first `done` are there. */
endura_status endura_put_many_u64(endura_map map, const uint64_t *keys, const uint64_t *values, size_t n, size_t *done);
typedef struct endura_pair_u64 {
  uint64_t key, value;
} endura_pair_u64;
/* Copies up to `max` entries from a key on. ENDURA_END: there were fewer. DESCENDING, FROM_AFTER */
endura_status endura_scan_u64(endura_map map, uint64_t from, uint32_t flags, endura_pair_u64 *pairs, size_t max, size_t *n);
/* Between integers and the keys of the functions below. */
endura_status endura_number_key(endura_map map, uint64_t number, endura_buf *key);
endura_status endura_key_number(endura_map map, endura_slice key, uint64_t *number);

/* ---- Maps of any types. Keys and values are passed as they are stored: str and [u8] as their bytes, integers from their
 * largest byte down, with the sign bit of signed ones inverted. What is not of the map's type is ENDURA_E_ENCODE. ---- */

endura_status endura_get(endura_map map, endura_slice key, endura_buf *value);
/* Writes at most `room` bytes. len: of the whole value. ENDURA_CUT: it is longer. */
endura_status endura_get_into(endura_map map, endura_slice key, void *to, size_t room, size_t *len);
typedef void (*endura_look)(void *context, const void *value, size_t len); /* lent until it returns */
endura_status endura_get_with(endura_map map, endura_slice key, endura_look look, void *context);
endura_status endura_has(endura_map map, endura_slice key);
endura_status endura_put(endura_map map, endura_slice key, endura_slice value);
endura_status endura_add(endura_map map, endura_slice key, endura_slice value);                      /* if it has none */
endura_status endura_replace(endura_map map, endura_slice key, endura_slice value, endura_buf *old); /* if it has one */
endura_status endura_remove(endura_map map, endura_slice key, endura_buf *old);                      /* old may be NULL */
endura_status endura_cas(endura_map map, endura_slice key, const endura_slice *expected, const endura_slice *desired,
                         endura_buf *found); /* as endura_cas_u64 */
endura_status endura_incr(endura_map map, endura_slice key, int64_t delta, uint64_t initial, uint64_t *now);
endura_status endura_end(endura_map map, uint32_t flags, endura_buf *key, endura_buf *value); /* the first; DESCENDING */
endura_status endura_pop(endura_map map, uint32_t flags, endura_buf *key, endura_buf *value);
typedef int (*endura_found)(void *context, size_t index, const endura_slice *value); /* lent; NULL: absent; 0: go on */
endura_status endura_get_many(endura_map map, const endura_slice *keys, size_t n, endura_found found, void *context);
endura_status endura_put_many(endura_map map, const endura_slice *keys, const endura_slice *values, size_t n, size_t *done);

/* ---- Ranges: from <= key < to; NULL is open. They are live: writes meanwhile are fine. ---- */

endura_status endura_range(endura_map map, const endura_slice *from, const endura_slice *to, uint32_t flags,
                           endura_iter *iter);
endura_status endura_prefix(endura_map map, endura_slice prefix, uint32_t flags, endura_iter *iter);
/* The next entry; the next one from the other end. Key and value are lent until the next step, seek or release of the
 * iterator, and until endura_close(). */
endura_status endura_next(endura_iter iter, endura_slice *key, endura_slice *value);
endura_status endura_next_back(endura_iter iter, endura_slice *key, endura_slice *value);
/* Moves to the first entry at or behind `key`, in the order of the iterator and within its range. */
endura_status endura_seek(endura_iter iter, endura_slice key);
endura_status endura_iter_release(endura_iter iter);

typedef int (*endura_visit_entry)(void *context, endura_slice key, endura_slice value); /* lent; 0: go on */
endura_status endura_visit(endura_map map, const endura_slice *from, const endura_slice *to, uint32_t flags,
                           endura_visit_entry visit, void *context);
endura_status endura_remove_range(endura_map map, const endura_slice *from, const endura_slice *to, uint32_t flags,
                                  uint64_t *count);
/* Removes the entries for which `keep` returns 0. */
endura_status endura_retain(endura_map map, endura_visit_entry keep, void *context, uint64_t *count);

/* ---- Batches: changes of any maps of a pool that are made at once. Nothing is made before the commit. ---- */

endura_status endura_batch_begin(endura_pool pool, endura_batch *batch);
endura_status endura_batch_put(endura_batch batch, endura_map map, endura_slice key, endura_slice value);
endura_status endura_batch_put_u64(endura_batch batch, endura_map map, uint64_t key, uint64_t value);
endura_status endura_batch_delete(endura_batch batch, endura_map map, endura_slice key);
endura_status endura_batch_delete_u64(endura_batch batch, endura_map map, uint64_t key);
/* A condition: the key has this value before the commit; NULL: it has none. */
endura_status endura_batch_expect(endura_batch batch, endura_map map, endura_slice key, const endura_slice *value);
endura_status endura_batch_expect_u64(endura_batch batch, endura_map map, uint64_t key, const uint64_t *value);
endura_status endura_batch_len(endura_batch batch, size_t *len);
endura_status endura_batch_clear(endura_batch batch);
/* The batch is empty after a commit. Otherwise it is as it was. unmet: the number of the part, from 0, for ENDURA_UNMET. */
endura_status endura_batch_commit(endura_batch batch, size_t *unmet);
endura_status endura_batch_release(endura_batch batch);

/* ---- Transactions: `run` reads and writes through its handle, which is closed when it returns. It runs again if another
 * thread has changed what it read. 0: its writes are made at once; else none is, and the result is ENDURA_STOPPED. ---- */

typedef int (*endura_run)(void *context, endura_transaction transaction);
endura_status endura_transact(endura_pool pool, endura_run run, void *context);
endura_status endura_transaction_get(endura_transaction transaction, endura_map map, endura_slice key, endura_buf *value);
endura_status endura_transaction_get_u64(endura_transaction transaction, endura_map map, uint64_t key, uint64_t *value);
endura_status endura_transaction_put(endura_transaction transaction, endura_map map, endura_slice key, endura_slice value);
endura_status endura_transaction_put_u64(endura_transaction transaction, endura_map map, uint64_t key, uint64_t value);
endura_status endura_transaction_delete(endura_transaction transaction, endura_map map, endura_slice key);
endura_status endura_transaction_delete_u64(endura_transaction transaction, endura_map map, uint64_t key);

/* Runs `look`, again where a commit came between its reads, so that it sees each batch whole or not at all. Its last run
 * counts. It may not write to the pool. */
typedef int (*endura_look_at)(void *context);
endura_status endura_read(endura_pool pool, endura_look_at look, void *context);

#ifdef __cplusplus
}
#endif
#endif
