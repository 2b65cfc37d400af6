// endura for PiBench. It is compiled once for each kind, with -DENDURA_KIND='"FastFair"', '"NbTree"' or '"Roart"'.
//
// Keys and values of 8 bytes are integers in the order of the machine, so that scans are numeric. Of other sizes they are byte
// strings, for which the kind is Roart.
#include "tree_api.hpp"

#include <endura.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
#include <vector>

namespace {

// PiBench has no way to hear of an error: a measurement with one is worth nothing.
endura_status must(endura_status status) {
  if (status >= 0) return status;
  std::fprintf(stderr, "endura: %s\n", endura_last_error());
  std::exit(1);
}

std::uint64_t number(const char *bytes) {
  std::uint64_t number;
  std::memcpy(&number, bytes, sizeof number);
  return number;
}

class tree : public tree_api {
public:
  tree(endura_pool pool, endura_map map) : map_(map), pool_(pool) {}
  ~tree() override {
    // The path of a temporary pool leads to it no more.
    auto closed = endura_close(pool_);
    if (closed != ENDURA_E_DISPLACED) must(closed);
  }

protected:
  endura_map map_;

private:
  endura_pool pool_;
};

class integers final : public tree {
public:
  using tree::tree;
  bool find(const char *key, std::size_t, char *value_out) override {
    std::uint64_t value;
    if (must(endura_get_u64(map_, number(key), &value)) != ENDURA_OK) return false;
    std::memcpy(value_out, &value, sizeof value);
    return true;
  }
  bool insert(const char *key, std::size_t, const char *value, std::size_t) override {
    return must(endura_add_u64(map_, number(key), number(value))) == ENDURA_OK;
  }
  bool update(const char *key, std::size_t, const char *value, std::size_t) override {
    return must(endura_replace_u64(map_, number(key), number(value), nullptr)) == ENDURA_OK;
  }
  bool remove(const char *key, std::size_t) override {
    return must(endura_remove_u64(map_, number(key), nullptr)) == ENDURA_OK;
  }
  // PiBench reads the entries until the thread's next scan.
  int scan(const char *key, std::size_t, int scan_size, char *&values_out) override {
    static thread_local std::vector<endura_pair_u64> pairs;
    std::size_t most = scan_size < 0 ? 0 : static_cast<std::size_t>(scan_size), found = 0;
    if (pairs.size() < most) pairs.resize(most);
    must(endura_scan_u64(map_, number(key), 0, pairs.data(), most, &found));
    values_out = reinterpret_cast<char *>(pairs.data());
    return static_cast<int>(found);
  }
};

// The entries of a scan, one behind the other.
struct entries {
  std::vector<char> bytes;
  int left;
  int found;
};

class byte_strings final : public tree {
public:
  byte_strings(endura_pool pool, endura_map map, std::size_t value_size) : tree(pool, map), value_size_(value_size) {}
  bool find(const char *key, std::size_t key_size, char *value_out) override {
    std::size_t len;
    return must(endura_get_into(map_, {key, key_size}, value_out, value_size_, &len)) != ENDURA_ABSENT;
  }
  bool insert(const char *key, std::size_t key_size, const char *value, std::size_t value_size) override {
    return must(endura_add(map_, {key, key_size}, {value, value_size})) == ENDURA_OK;
  }
  bool update(const char *key, std::size_t key_size, const char *value, std::size_t value_size) override {
    return must(endura_replace(map_, {key, key_size}, {value, value_size}, nullptr)) == ENDURA_OK;
  }
  bool remove(const char *key, std::size_t key_size) override {
    return must(endura_remove(map_, {key, key_size}, nullptr)) == ENDURA_OK;
  }
  int scan(const char *key, std::size_t key_size, int scan_size, char *&values_out) override {
    static thread_local entries found;
    found.bytes.clear();
    found.left = scan_size;
    found.found = 0;
    endura_slice from{key, key_size};
    if (scan_size > 0) must(endura_visit(map_, &from, nullptr, 0, add, &found));
    values_out = found.bytes.data();
    return found.found;
  }

private:
  static int add(void *context, endura_slice key, endura_slice value) noexcept {
    auto &found = *static_cast<entries *>(context);
    for (auto part : {key, value}) {
      auto begin = static_cast<const char *>(part.data);
      found.bytes.insert(found.bytes.end(), begin, begin + part.len);
    }
    return ++found.found == found.left;
  }

  std::size_t value_size_;
};

} // namespace

extern "C" __attribute__((visibility("default"))) tree_api *create_tree(const tree_options_t &options) {
  bool are_integers = options.key_size == 8 && options.value_size == 8;
  if (!are_integers && std::strcmp(ENDURA_KIND, "Roart") != 0) {
    std::fprintf(stderr, "endura: " ENDURA_KIND " takes keys and values of 8 bytes, not of %zu and %zu: use the adapter for Roart\n",
                 options.key_size, options.value_size);
    return nullptr;
  }
  endura_options how = ENDURA_OPTIONS;
  how.max_size = options.pool_size;
  how.flags = ENDURA_CHECKPOINTS_OFF; // as other trees are measured: one file, and no thread beside
  std::string path = options.pool_path;
  bool is_temporary = path.empty();
  if (is_temporary) {
    char folder[] = "/dev/shm/endura-pibench-XXXXXX";
    if (mkdtemp(folder) == nullptr) {
      std::perror("endura: a folder in /dev/shm");
      return nullptr;
    }
    path = std::string(folder) + "/pool";
  }
  const char *type = are_integers ? "u64" : "[u8]";
  endura_pool pool;
  endura_map map;
  auto status = endura_open(path.c_str(), &how, &pool);
  if (is_temporary) {
    // PiBench ends with exit(1) after some failures: the pool goes with the process, however that ends.
    unlink(path.c_str());
    rmdir(path.substr(0, path.rfind('/')).c_str());
  }
  if (status == ENDURA_OK) status = endura_map_open(pool, "pibench", type, type, ENDURA_KIND, &map);
  if (status < 0) {
    std::fprintf(stderr, "endura: %s\n", endura_last_error());
    endura_close(pool);
    return nullptr;
  }
  if (are_integers) return new integers(pool, map);
  return new byte_strings(pool, map, options.value_size);
}
