// endura.hpp: encodings in the order of their values, every method, exceptions, lifetimes.
#include <endura.hpp>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <thread>

static void check_at(int line, bool holds) {
  if (holds) return;
  std::fprintf(stderr, "line %d: %s\n", line, endura_last_error());
  std::_Exit(1);
}
#define check(condition) check_at(__LINE__, (condition))

// The status of what a callable throws.
template <class F> static endura_status thrown(F &&call) {
  try {
    call();
    return ENDURA_OK;
  } catch (const endura::error &failed) {
    check(std::string(failed.what()).size() > 10 && std::string(failed.name()) == endura_status_name(failed.code()));
    return failed.code();
  }
}

// Keys of a type beside a std::map: the same order, the same values.
template <class K, class Less = std::less<K>, class Make>
static void ordered(endura::pool &pool, const char *type, Make &&make) {
  check(endura::codec<K>::type() == type);
  auto map = pool.map<K, std::uint32_t>(std::string("keys ") + type);
  std::map<K, std::uint32_t, Less> model;
  std::mt19937_64 random(7);
  for (std::uint32_t i = 0; i < 500; i++) {
    K key = make(random());
    map.put(key, i);
    model[key] = i;
    if (i % 7 == 0) {
      check(map.erase(key));
      model.erase(key);
    }
  }
  check(map.size() == model.size());
  auto known = model.begin();
  for (const auto &[key, value] : map.all()) {
    check(known != model.end() && key == known->first && value == known->second);
    check(map.get(key) == value);
    ++known;
  }
  check(known == model.end());
  auto last = model.rbegin();
  for (const auto &entry : map.all(ENDURA_DESCENDING)) check(entry.first == (last++)->first);
  if (!model.empty()) check(map.first()->first == model.begin()->first && map.last()->first == model.rbegin()->first);
}

struct reversed {
  template <class T> bool operator()(const endura::reverse<T> &a, const endura::reverse<T> &b) const { return b.value < a.value; }
};

static std::string text(std::uint64_t n) { return std::string(n % 4, static_cast<char>("\0ab"[n / 4 % 3])) + static_cast<char>('a' + n / 16 % 3); }

static void types(endura::pool &pool) {
  ordered<std::int8_t>(pool, "i8", [](std::uint64_t n) { return static_cast<std::int8_t>(n); });
  ordered<std::uint16_t>(pool, "u16", [](std::uint64_t n) { return static_cast<std::uint16_t>(n); });
  ordered<std::int32_t>(pool, "i32", [](std::uint64_t n) { return static_cast<std::int32_t>(n); });
  ordered<std::int64_t>(pool, "i64", [](std::uint64_t n) { return static_cast<std::int64_t>(n); });
  ordered<std::uint64_t>(pool, "u64", [](std::uint64_t n) { return n; });
  ordered<bool>(pool, "bool", [](std::uint64_t n) { return n % 2 == 0; });
  ordered<double>(pool, "f64", [](std::uint64_t n) { return std::ldexp(static_cast<double>(static_cast<std::int64_t>(n)), static_cast<int>(n % 90) - 45); });
  ordered<float>(pool, "f32", [](std::uint64_t n) { return static_cast<float>(static_cast<std::int32_t>(n)) / 8; });
  ordered<std::string>(pool, "str", text);
  ordered<endura::bytes>(pool, "[u8]", [](std::uint64_t n) { return endura::bytes(n % 5, std::byte(n / 8)); });
  ordered<std::optional<std::string>>(pool, "Option<str>", [](std::uint64_t n) { return n % 5 == 0 ? std::nullopt : std::optional(text(n / 5)); });
  ordered<std::tuple<std::string, std::int32_t>>(pool, "(str, i32)", [](std::uint64_t n) { return std::tuple(text(n), static_cast<std::int32_t>(n % 9) - 4); });
  ordered<std::tuple<std::uint8_t, std::string, std::string>>(pool, "(u8, str, str)", [](std::uint64_t n) { return std::tuple(static_cast<std::uint8_t>(n % 3), text(n / 3), text(n / 999)); });
  ordered<std::tuple<std::int16_t, std::tuple<std::string, bool>>>(pool, "(i16, (str, bool))", [](std::uint64_t n) { return std::tuple(static_cast<std::int16_t>(n % 3), std::tuple(text(n / 3), n % 2 == 0)); });
  ordered<endura::reverse<std::int32_t>, reversed>(pool, "Reverse<i32>", [](std::uint64_t n) { return endura::reverse<std::int32_t>{static_cast<std::int32_t>(n)}; });
  ordered<endura::reverse<std::string>, reversed>(pool, "Reverse<str>", [](std::uint64_t n) { return endura::reverse<std::string>{text(n)}; });
}

static void methods(endura::pool &pool) {
  auto map = pool.map<std::string, std::string>("methods");
  check(map.empty() && !map.get("a") && !map.first() && !map.pop_last() && !map.take("a") && !map.erase("a"));
  check(map.add("a", "1") && !map.add("a", "2") && map.replace("a", "2") == "1" && !map.replace("b", "2"));
  std::optional<std::string> expected = "9";
  check(!map.compare_exchange("a", expected, "3") && expected == "2");
  check(map.compare_exchange("a", expected, std::nullopt) && !map.contains("a"));
  check(!map.compare_exchange("a", expected, "3") && !expected && map.compare_exchange("a", expected, "3"));
  check(map.update("a", [](const auto &old) { return std::optional(*old + "!"); }) == "3!");
  check(!map.update("a", [](const auto &) { return std::optional<std::string>(); }) && map.empty());
  for (const char *key : {"aa", "ab", "b", "c"}) map.put(key, key);
  std::string seen;
  for (const auto &[key, value] : map.range("ab", "c")) seen += key + value;
  check(seen == "ababbb");
  auto range = map.all();
  check(range.next()->first == "aa" && range.next_back()->first == "c" && range.next()->first == "ab");
  range.seek("aab");
  check(range.next()->first == "ab" && range.next()->first == "b" && range.next()->first == "c" && !range.next());
  check(map.from("b").next()->first == "b" && map.until("ab", ENDURA_DESCENDING).next()->first == "aa");
  check(map.pop_first()->first == "aa" && map.pop_last()->second == "c" && map.erase_range("a", "b") == 1);
  seen.clear();
  check(map.with("b", [&](std::string_view value) { seen = value; }) && seen == "b" && !map.with("x", [](auto) {}));
  auto numbers = pool.map<std::string, std::int16_t>("counted");
  check(numbers.increment("a") == 1 && numbers.increment("a", -9) == -8 && numbers.increment("b", 0, 7) == 7);
  check(thrown([&] { numbers.increment("a", 40000); }) == ENDURA_E_TYPE);
  auto pairs = pool.map<std::tuple<std::string, std::uint8_t>, endura::unit>("pairs");
  for (std::uint8_t n : {1, 2}) pairs.put({"ada", n}, {}), pairs.put({"adam", n}, {});
  int count = 0;
  for (const auto &[key, nothing] : pairs.starting_with(std::string("ada"))) check(std::get<0>(key) == "ada" && nothing == endura::unit{}), count++;
  check(count == 2);
  map.clear();
}

static void exceptions(endura::pool &pool) {
  auto map = pool.map<std::uint64_t, std::string>("exceptions");
  for (std::uint64_t n = 0; n < 10; n++) map.put(n, "value");
  auto caught = [](auto &&call) {
    try {
      call();
    } catch (int number) {
      return number;
    }
    return 0;
  };
  check(caught([&] { map.with(1, [](std::string_view) { throw 1; }); }) == 1);
  int visited = 0;
  check(caught([&] { map.visit([&](auto, auto) { return ++visited < 3 ? true : throw 2; }); }) == 2 && visited == 3);
  check(!map.visit([](auto, auto) { return false; }) && map.visit([](auto, auto) { return true; }));
  check(caught([&] { pool.transact([&](endura::transaction &run) { run.put(map, 1, "lost"); throw 3; }); }) == 3);
  check(caught([&] { pool.read([] { throw 4; }); }) == 4 && map.get(1) == "value");
  check(caught([&] { map.update(1, [](const auto &) -> std::optional<std::string> { throw 5; }); }) == 5);
  check(thrown([&] { map.with(1, [&](auto) { pool.close(); }); }) == ENDURA_E_INSIDE_OPERATION);
  check(thrown([&] { pool.map<std::string, bool>("exceptions"); }) == ENDURA_E_WRONG_TYPES);
  check(thrown([] { endura::pool nowhere("nowhere/pool"); }) == ENDURA_E_IO);
}

static void changes(endura::pool &pool) {
  auto map = pool.map<std::uint32_t, std::int32_t>("changes");
  auto names = pool.map<std::string, std::uint32_t>("names");
  { pool.batch().put(map, 1, 1); }
  check(!map.get(1));
  auto batch = pool.batch();
  batch.put(map, 1, -1).put(names, "one", 1).expect(map, 2, std::nullopt).expect(map, 3, 7);
  check(batch.size() == 4 && batch.commit() == 3 && !map.get(1));
  map.put(3, 7);
  check(!batch.commit() && map.get(1) == -1 && names.get("one") == 1u && batch.size() == 0);
  batch.erase(names, "one").clear();
  check(!batch.commit() && names.contains("one"));
  // Each thread adds to both: no sum is lost, and none is seen half made.
  std::atomic<bool> is_over = false;
  std::thread reader([&] {
    // A run that a commit has come between is repeated: only the last one counts.
    std::optional<std::int32_t> first, second;
    while (!is_over) {
      pool.read([&] { first = map.get(10), second = map.get(11); });
      check(first == second);
    }
  });
  std::vector<std::thread> writers;
  for (int i = 0; i < 2; i++) {
    writers.emplace_back([&] {
      for (int n = 0; n < 200; n++) {
        pool.transact([&](endura::transaction &run) {
          auto sum = run.get(map, 10).value_or(0) + 1;
          run.put(map, 10, sum);
          run.put(map, 11, sum);
          run.erase(map, 12);
        });
      }
    });
  }
  for (auto &writer : writers) writer.join();
  is_over = true;
  reader.join();
  check(map.get(10) == 400 && map.get(11) == 400);
}

static void lifetimes() {
  std::atomic<int> events = 0;
  endura::options options;
  options.flags = ENDURA_CHECKPOINTS_ON_DEMAND;
  options.listener = [&](std::string_view event, std::string_view json) { events += !event.empty() && json.front() == '{'; };
  std::optional<endura::pool> first(std::in_place, "first.endura", options);
  auto map = first->map<std::uint64_t, std::uint64_t>("map");
  map.put(1, 2);
  auto range = map.all();
  auto batch = first->batch();
  endura::pool moved = std::move(*first);
  first.reset();
  check(map.get(1) == 2u);
  moved.checkpoint();
  moved.backup("copy.endura");
  moved.compact("small.endura");
  moved.recover_leaks();
  moved.rename("map", "other");
  check(moved.maps().find("\"other\"") != std::string::npos && moved.stats().find("uuid") != std::string::npos);
  check(moved.verify().find("\"entries\":1") != std::string::npos && moved.drop("other") && !moved.drop("other"));
  check(moved.close());
  check(events > 0);
  check(thrown([&] { map.get(1); }) == ENDURA_E_CLOSED && thrown([&] { range.next(); }) == ENDURA_E_CLOSED);
  check(thrown([&] { batch.commit(); }) == ENDURA_E_CLOSED && thrown([&] { moved.checkpoint(); }) == ENDURA_E_CLOSED);
  moved = endura::pool("copy.endura");
  check((moved.map<std::uint64_t, std::uint64_t>("map").get(1) == 2u));
  endura::pool small("small.endura");
  check((small.map<std::uint64_t, std::uint64_t>("map").size() == 1));
}

int main() {
  {
    endura::options options;
    options.flags = ENDURA_CHECKPOINTS_OFF;
    endura::pool pool("wrapper.endura", options);
    types(pool);
    methods(pool);
    exceptions(pool);
    changes(pool);
  }
  lifetimes();
}
