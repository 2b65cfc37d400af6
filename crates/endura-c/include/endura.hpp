// endura.hpp: endura.h for C++17 with exceptions. Headers only; the program links libendura.
//
//   endura::pool pool("data.endura");
//   auto births = pool.map<std::string, std::uint32_t>("births");
//   births.put("ada", 1815);
//   for (const auto &[name, year] : births.prefix("a")) ...
//
// Failures are exceptions: endura::error, with a code. What is absent is an empty optional. A pool closes when it goes out of
// scope; maps, ranges and batches that outlive it throw when they are used. What a callable throws comes out of the call that
// it was given to.
#ifndef ENDURA_HPP
#define ENDURA_HPP

#include "endura/map.hpp"

#include <functional>
#include <memory>

namespace endura {

// Changes that are made at once. What was not committed when the batch goes out of scope is not made.
class batch {
public:
  template <class K, class V>
  batch &put(const map<K, V> &to, typename codec<K>::argument key, typename codec<V>::argument value) {
    check(endura_batch_put(own_.get(), to.handle(), detail::encoded<K>(key), detail::encoded<V>(value)));
    return *this;
  }
  template <class K, class V> batch &erase(const map<K, V> &from, typename codec<K>::argument key) {
    check(endura_batch_delete(own_.get(), from.handle(), detail::encoded<K>(key)));
    return *this;
  }
  // A condition: the key has this value; an empty optional: it has none.
  template <class K, class V>
  batch &expect(const map<K, V> &in, typename codec<K>::argument key,
                const std::optional<typename map<K, V>::mapped_type> &value) {
    std::optional<detail::encoded<V>> wanted;
    if (value) wanted.emplace(*value);
    check(endura_batch_expect(own_.get(), in.handle(), detail::encoded<K>(key), wanted ? wanted->pointer() : nullptr));
    return *this;
  }
  // Makes the changes if all conditions hold. Otherwise nothing is changed, and the result is the number of the first part,
  // from 0, that does not hold.
  std::optional<std::size_t> commit() {
    std::size_t unmet;
    if (check(endura_batch_commit(own_.get(), &unmet)) == ENDURA_OK) return std::nullopt;
    return unmet;
  }
  std::size_t size() const {
    std::size_t len;
    check(endura_batch_len(own_.get(), &len));
    return len;
  }
  void clear() { check(endura_batch_clear(own_.get())); }

private:
  friend class pool;
  batch() = default;
  detail::owner<endura_batch, endura_batch_release> own_;
};

// One run of a transaction. It is used in the callable that gets it.
class transaction {
public:
  template <class K, class V> std::optional<V> get(const map<K, V> &from, typename codec<K>::argument key) {
    detail::buffer value;
    auto status = endura_transaction_get(handle_, from.handle(), detail::encoded<K>(key), value.out());
    if (check(status) != ENDURA_OK) return std::nullopt;
    return detail::decoded<V>(value.view());
  }
  template <class K, class V>
  void put(const map<K, V> &to, typename codec<K>::argument key, typename codec<V>::argument value) {
    check(endura_transaction_put(handle_, to.handle(), detail::encoded<K>(key), detail::encoded<V>(value)));
  }
  template <class K, class V> void erase(const map<K, V> &from, typename codec<K>::argument key) {
    check(endura_transaction_delete(handle_, from.handle(), detail::encoded<K>(key)));
  }

private:
  friend class pool;
  explicit transaction(endura_transaction handle) : handle_(handle) {}
  endura_transaction handle_;
};

// Options of a pool, as endura_options has them.
struct options : endura_options {
  options() : endura_options ENDURA_OPTIONS {}
  // Gets an event and its facts as JSON, in a thread of the pool. It must not throw, and return within a second.
  std::function<void(std::string_view event, std::string_view json)> listener;
};

// An open pool.
class pool {
public:
  explicit pool(const std::string &path) : pool(path, options()) {}
  pool(const std::string &path, const options &how) {
    endura_options given = how;
    if (how.listener) {
      listener_ = std::make_unique<listener>(how.listener);
      given.on_event = [](void *context, const char *event, const char *json) noexcept {
        (*static_cast<listener *>(context))(event, json);
      };
      given.event_context = listener_.get();
    }
    check(endura_open(path.c_str(), &given, own_.out()));
  }
  pool(pool &&) noexcept = default;
  pool &operator=(pool &&other) noexcept {
    if (this != &other) {
      end();
      own_ = std::move(other.own_);
      listener_ = std::move(other.listener_);
    }
    return *this;
  }
  ~pool() { end(); }

  // Opens a map, and creates it if there is none. kind: FastFair, NbTree or Roart; nullptr for what suits the types.
  template <class K, class V> endura::map<K, V> map(const std::string &name, const char *kind = nullptr) {
    endura::map<K, V> opened;
    auto key = codec<K>::type(), value = codec<V>::type();
    check(endura_map_open(own_.get(), name.c_str(), key.c_str(), value.c_str(), kind, opened.own_.out()));
    return opened;
  }

  // As the destructor does, and says what failed. Returns whether a checkpoint has the last writes, if the pool has one.
  bool close() { return check(endura_close(own_.get())) != ENDURA_NO_CHECKPOINT; }
  void checkpoint() { check(endura_checkpoint(own_.get())); }
  void backup(const std::string &to) { check(endura_backup(own_.get(), to.c_str())); }
  void compact(const std::string &to) { check(endura_compact(own_.get(), to.c_str())); }
  void recover_leaks() { check(endura_recover_leaks(own_.get())); }
  void rename(const std::string &from, const std::string &to) {
    check(endura_rename(own_.get(), from.c_str(), to.c_str()));
  }
  // Returns whether there was such a map.
  bool drop(const std::string &name) { return check(endura_drop(own_.get(), name.c_str())) == ENDURA_OK; }
  // Reports as JSON.
  std::string stats() const { return json(endura_stats_json); }
  std::string maps() const { return json(endura_maps_json); }
  std::string verify() const { return json(endura_verify); }

  endura::batch batch() {
    endura::batch begun;
    check(endura_batch_begin(own_.get(), begun.own_.out()));
    return begun;
  }
  // Runs `run(transaction &)`, again if another thread has changed what it read, and then makes its writes at once. If it
  // throws, nothing is made, and the exception comes out here.
  template <class F> void transact(F &&run) {
    auto call = [&](endura_transaction handle) {
      transaction own(handle);
      return run(own), 0;
    };
    detail::carried<decltype(call)> carried(call);
    auto status = endura_transact(
        own_.get(),
        [](void *context, endura_transaction handle) {
          return static_cast<decltype(carried) *>(context)->run(1, handle);
        },
        &carried);
    if (status == ENDURA_STOPPED) carried.rethrow();
    check(status);
  }
  // Runs `look()` until what it has read has each batch whole, or not at all. What its last run throws comes out here.
  template <class F> void read(F &&look) {
    auto call = [&] { return look(), 0; };
    detail::carried<decltype(call)> carried(call);
    auto status = endura_read(
        own_.get(), [](void *context) { return static_cast<decltype(carried) *>(context)->run(1); }, &carried);
    if (status == ENDURA_STOPPED) carried.rethrow();
    check(status);
  }
  endura_pool handle() const noexcept { return own_.get(); }

private:
  using listener = std::function<void(std::string_view, std::string_view)>;

  // The listener lives until no call of it can begin any more.
  void end() noexcept {
    endura_status closed = endura_close(own_.take());
    if (closed < 0 && closed != ENDURA_E_CLOSED) static_cast<void>(listener_.release());
  }
  std::string json(endura_status (*of)(endura_pool, endura_buf *)) const {
    detail::buffer out;
    check(of(own_.get(), out.out()));
    return std::string(out.view());
  }

  std::unique_ptr<listener> listener_;
  detail::owner<endura_pool, endura_close> own_;
};

} // namespace endura
#endif
