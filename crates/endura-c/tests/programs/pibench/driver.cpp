// Plays PiBench's part: loads an adapter, and compares it with a std::map, from one thread and from several.
// driver ADAPTER KEY_SIZE VALUE_SIZE [refused]
#include "../../../pibench/tree_api.hpp"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <vector>

static std::size_t key_size, value_size;

static void check_at(int line, bool holds) {
  if (holds) return;
  std::fprintf(stderr, "line %d\n", line);
  std::_Exit(1);
}
#define check(condition) check_at(__LINE__, (condition))

// PiBench sorts as its keys are read: integers of the machine for 8 bytes, else bytes.
static std::string key_of(std::uint64_t n) {
  std::string key(key_size, '\0');
  if (key_size == 8) {
    std::memcpy(key.data(), &n, 8);
  } else {
    for (std::size_t i = 0; i < key_size && i < 8; i++) key[key_size - 1 - i] = static_cast<char>(n >> (8 * i));
  }
  return key;
}
static std::string value_of(std::uint64_t n) {
  std::string value(value_size, static_cast<char>(n));
  std::memcpy(value.data(), &n, value_size < 8 ? value_size : 8);
  return value;
}

static void one_thread(tree_api &tree) {
  std::map<std::uint64_t, std::string> model;
  std::mt19937_64 random(7);
  std::vector<char> room(value_size);
  for (int i = 0; i < 20000; i++) {
    std::uint64_t n = random() % 3000 << (key_size == 8 ? 40 : 0);
    std::string key = key_of(n), value = value_of(random());
    bool is_there = model.count(n) == 1;
    switch (random() % 5) {
    case 0:
      check(tree.insert(key.data(), key_size, value.data(), value_size) == !is_there);
      if (!is_there) model[n] = value;
      break;
    case 1:
      check(tree.update(key.data(), key_size, value.data(), value_size) == is_there);
      if (is_there) model[n] = value;
      break;
    case 2:
      check(tree.remove(key.data(), key_size) == (model.erase(n) == 1));
      break;
    case 3:
      check(tree.find(key.data(), key_size, room.data()) == is_there);
      if (is_there) check(std::memcmp(room.data(), model[n].data(), value_size) == 0);
      break;
    default: {
      char *found = nullptr;
      int count = tree.scan(key.data(), key_size, 20, found);
      auto known = model.lower_bound(n);
      for (int at = 0; at < count; at++, ++known) {
        check(known != model.end());
        const char *entry = found + static_cast<std::size_t>(at) * (key_size + value_size);
        check(std::memcmp(entry, key_of(known->first).data(), key_size) == 0);
        check(std::memcmp(entry + key_size, known->second.data(), value_size) == 0);
      }
      check(count == 20 || known == model.end());
    }
    }
  }
}

static void threads(tree_api &tree) {
  std::atomic<std::uint64_t> inserted = 0, removed = 0;
  auto work = [&](std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < 5000; i++) {
      std::string key = key_of((random() % 500) + 1000000), value = value_of(seed);
      if (random() % 2 == 0) inserted += tree.insert(key.data(), key_size, value.data(), value_size);
      else removed += tree.remove(key.data(), key_size);
      char *found = nullptr;
      if (i % 100 == 0) tree.scan(key.data(), key_size, 10, found);
    }
  };
  std::vector<std::thread> all;
  for (std::uint64_t seed = 1; seed <= 4; seed++) all.emplace_back(work, seed);
  for (auto &one : all) one.join();
  std::uint64_t left = 0;
  std::vector<char> room(value_size);
  for (std::uint64_t n = 0; n < 500; n++) left += tree.find(key_of(n + 1000000).data(), key_size, room.data());
  check(left == inserted - removed);
}

int main(int count, char **arguments) {
  check(count >= 4);
  key_size = std::strtoul(arguments[2], nullptr, 10);
  value_size = std::strtoul(arguments[3], nullptr, 10);
  void *adapter = dlopen(arguments[1], RTLD_NOW);
  if (adapter == nullptr) std::fprintf(stderr, "%s\n", dlerror());
  check(adapter != nullptr);
  auto create = reinterpret_cast<tree_api *(*)(const tree_options_t &)>(dlsym(adapter, "create_tree"));
  check(create != nullptr);
  tree_options_t options;
  options.key_size = key_size;
  options.value_size = value_size;
  options.pool_size = std::size_t{256} << 20;
  options.num_threads = 4;
  std::unique_ptr<tree_api> tree(create(options));
  if (count > 4) return tree == nullptr ? 0 : 1;
  check(tree != nullptr);
  one_thread(*tree);
  threads(*tree);
}
