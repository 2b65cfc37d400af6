// Maps and their ranges.
#ifndef ENDURA_MAP_HPP
#define ENDURA_MAP_HPP

#include "codec.hpp"

#include <iterator>

namespace endura {

class batch;
class pool;
class transaction;

// Entries in order, from both ends. Writes to the map meanwhile are fine. A range serves one thread at a time, and throws
// when it is used after the close of its pool.
template <class K, class V> class range {
public:
  using value_type = std::pair<K, V>;

  class iterator {
  public:
    using iterator_category = std::input_iterator_tag;
    using value_type = range::value_type;
    using difference_type = std::ptrdiff_t;
    using pointer = const value_type *;
    using reference = const value_type &;

    iterator() = default;
    reference operator*() const { return *of_->now_; }
    pointer operator->() const { return &*of_->now_; }
    iterator &operator++() {
      of_->now_ = of_->next();
      if (!of_->now_) of_ = nullptr;
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const iterator &a, const iterator &b) { return a.of_ == b.of_; }
    friend bool operator!=(const iterator &a, const iterator &b) { return a.of_ != b.of_; }

  private:
    friend class range;
    explicit iterator(range *of) : of_(of) { ++*this; }
    range *of_ = nullptr;
  };

  // Both take from the same entries: a loop that was left goes on where it was left.
  iterator begin() { return iterator(this); }
  iterator end() { return iterator(); }
  std::optional<value_type> next() { return step(endura_next); }
  std::optional<value_type> next_back() { return step(endura_next_back); }
  // Moves to the first entry at or behind a key, within the range.
  void seek(typename codec<K>::argument key) { check(endura_seek(own_.get(), detail::encoded<K>(key))); }

private:
  template <class, class> friend class map;
  range() = default;

  std::optional<value_type> step(endura_status (*to)(endura_iter, endura_slice *, endura_slice *)) {
    endura_slice key, value;
    if (check(to(own_.get(), &key, &value)) != ENDURA_OK) return std::nullopt;
    return value_type(detail::decoded<K>(detail::view(key)), detail::decoded<V>(detail::view(value)));
  }

  detail::owner<endura_iter, endura_iter_release> own_;
  std::optional<value_type> now_;
};

// A map. Any thread may use it, and any number at once.
template <class K, class V> class map {
  using key_argument = typename codec<K>::argument;
  using value_argument = typename codec<V>::argument;
  using key_encoding = detail::encoded<K>;
  using value_encoding = detail::encoded<V>;
  static constexpr bool are_numbers = codec<K>::is_number && codec<V>::is_number;

public:
  using key_type = K;
  using mapped_type = V;
  using value_type = std::pair<K, V>;

  std::optional<V> get(key_argument key) const {
    if constexpr (are_numbers) {
      std::uint64_t value;
      if (check(endura_get_u64(handle(), word(key), &value)) != ENDURA_OK) return std::nullopt;
      return static_cast<V>(value);
    } else {
      std::optional<V> found;
      with(key, [&](std::string_view value) { found.emplace(detail::decoded<V>(value)); });
      return found;
    }
  }
  // Passes the stored bytes to look, without a copy on the heap. Returns whether they are there.
  template <class F> bool with(key_argument key, F &&look) const {
    auto call = [&](std::string_view value) { return look(value), 0; };
    detail::carried<decltype(call)> carried(call);
    auto status = endura_get_with(
        handle(), key_encoding(key),
        [](void *context, const void *value, std::size_t len) {
          static_cast<decltype(carried) *>(context)->run(0, std::string_view(static_cast<const char *>(value), len));
        },
        &carried);
    carried.rethrow();
    return check(status) == ENDURA_OK;
  }
  bool contains(key_argument key) const { return check(endura_has(handle(), key_encoding(key))) == ENDURA_OK; }

  void put(key_argument key, value_argument value) {
    if constexpr (are_numbers) check(endura_put_u64(handle(), word(key), word(value)));
    else check(endura_put(handle(), key_encoding(key), value_encoding(value)));
  }
  // Gives the key a value if it has none. Returns whether it had none.
  bool add(key_argument key, value_argument value) {
    return check(endura_add(handle(), key_encoding(key), value_encoding(value))) == ENDURA_OK;
  }
  // Gives the key another value if it has one. Returns the old one.
  std::optional<V> replace(key_argument key, value_argument value) {
    detail::buffer old;
    return found(endura_replace(handle(), key_encoding(key), value_encoding(value), old.out()), old);
  }
  // Returns whether the key was there.
  bool erase(key_argument key) { return check(endura_remove(handle(), key_encoding(key), nullptr)) == ENDURA_OK; }
  // Removes the key, and returns its value.
  std::optional<V> take(key_argument key) {
    detail::buffer old;
    return found(endura_remove(handle(), key_encoding(key), old.out()), old);
  }
  // As std::atomic has it, where an empty optional is no value: if the value is not `expected`, that becomes the value.
  bool compare_exchange(key_argument key, std::optional<V> &expected, const std::optional<V> &desired) {
    std::optional<value_encoding> was, will;
    if (expected) was.emplace(*expected);
    if (desired) will.emplace(*desired);
    detail::buffer other;
    auto status = check(endura_cas(handle(), key_encoding(key), was ? was->pointer() : nullptr,
                                   will ? will->pointer() : nullptr, other.out()));
    if (status == ENDURA_OK) return true;
    expected = status == ENDURA_ABSENT ? std::nullopt : std::optional<V>(detail::decoded<V>(other.view()));
    return false;
  }
  // Sets the value to what `change` returns for it: std::optional<V>(const std::optional<V> &), where an empty one is no
  // value. It runs again if another thread was faster. Returns the new value.
  template <class F> std::optional<V> update(key_argument key, F &&change) {
    std::optional<V> now = get(key), next;
    do next = change(std::as_const(now));
    while (!compare_exchange(key, now, next));
    return next;
  }
  // Adds to a value; a key without one counts as `initial`. Returns the sum.
  V increment(key_argument key, std::int64_t delta = 1, V initial = V{}) {
    static_assert(codec<V>::is_number, "the values are integers");
    std::uint64_t now;
    if constexpr (are_numbers) check(endura_incr_u64(handle(), word(key), delta, word(initial), &now));
    else check(endura_incr(handle(), key_encoding(key), delta, word(initial), &now));
    return static_cast<V>(now);
  }

  std::optional<value_type> first() const { return end(endura_end, 0); }
  std::optional<value_type> last() const { return end(endura_end, ENDURA_DESCENDING); }
  std::optional<value_type> pop_first() { return end(endura_pop, 0); }
  std::optional<value_type> pop_last() { return end(endura_pop, ENDURA_DESCENDING); }

  // Flags are ENDURA_DESCENDING, ENDURA_FROM_AFTER and ENDURA_TO_INCLUDED.
  endura::range<K, V> all(std::uint32_t flags = 0) const { return open(nullptr, nullptr, flags); }
  endura::range<K, V> range(key_argument from, key_argument to, std::uint32_t flags = 0) const {
    key_encoding first(from), last(to);
    return open(first.pointer(), last.pointer(), flags);
  }
  endura::range<K, V> from(key_argument from, std::uint32_t flags = 0) const {
    key_encoding first(from);
    return open(first.pointer(), nullptr, flags);
  }
  endura::range<K, V> until(key_argument to, std::uint32_t flags = 0) const {
    key_encoding last(to);
    return open(nullptr, last.pointer(), flags);
  }
  // Keys that begin with these bytes. For tuples: the encoding of their first parts.
  endura::range<K, V> prefix(std::string_view bytes, std::uint32_t flags = 0) const {
    endura::range<K, V> opened;
    check(endura_prefix(handle(), detail::slice(bytes), flags, opened.own_.out()));
    return opened;
  }
  // Tuples whose first part is this.
  template <class First> endura::range<K, V> starting_with(const First &first, std::uint32_t flags = 0) const {
    static_assert(std::is_same_v<std::tuple_element_t<0, K>, First>, "the first part of the keys");
    std::string bytes;
    detail::put_part<First>(first, bytes);
    return prefix(bytes, flags);
  }
  // Passes the stored bytes of the entries to look, until it returns false. Returns whether it never did.
  template <class F> bool visit(F &&look, std::uint32_t flags = 0) const {
    auto call = [&](std::string_view key, std::string_view value) { return look(key, value) ? 0 : 1; };
    detail::carried<decltype(call)> carried(call);
    auto status = endura_visit(
        handle(), nullptr, nullptr, flags,
        [](void *context, endura_slice key, endura_slice value) {
          return static_cast<decltype(carried) *>(context)->run(1, detail::view(key), detail::view(value));
        },
        &carried);
    carried.rethrow();
    return check(status) == ENDURA_OK;
  }
  // Removes the keys from <= key < to. Returns their number.
  std::uint64_t erase_range(key_argument from, key_argument to) {
    key_encoding first(from), last(to);
    std::uint64_t count;
    check(endura_remove_range(handle(), first.pointer(), last.pointer(), 0, &count));
    return count;
  }

  std::uint64_t size() const {
    std::uint64_t len;
    check(endura_len(handle(), &len));
    return len;
  }
  bool empty() const { return size() == 0; }
  void clear() { check(endura_clear(handle())); }
  endura_map handle() const noexcept { return own_.get(); }

private:
  friend class pool;
  map() = default;

  template <class T> static std::uint64_t word(T number) { return static_cast<std::uint64_t>(number); }
  static std::optional<V> found(endura_status status, const detail::buffer &value) {
    if (check(status) != ENDURA_OK) return std::nullopt;
    return detail::decoded<V>(value.view());
  }
  std::optional<value_type> end(endura_status (*of)(endura_map, std::uint32_t, endura_buf *, endura_buf *),
                                std::uint32_t flags) const {
    detail::buffer key, value;
    if (check(of(handle(), flags, key.out(), value.out())) != ENDURA_OK) return std::nullopt;
    return value_type(detail::decoded<K>(key.view()), detail::decoded<V>(value.view()));
  }
  endura::range<K, V> open(const endura_slice *from, const endura_slice *to, std::uint32_t flags) const {
    endura::range<K, V> opened;
    check(endura_range(handle(), from, to, flags, opened.own_.out()));
    return opened;
  }

  detail::owner<endura_map, endura_map_release> own_;
};

} // namespace endura
#endif
