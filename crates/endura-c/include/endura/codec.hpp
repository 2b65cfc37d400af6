// How types of C++ are stored: in the library's encodings, which sort byte by byte as the values do.
//
//   type                               recorded as          an argument is
//   integers of 8 to 64 bits           u8 to u64, i8 to i64 the integer
//   float, double, bool                f32, f64, bool       the value
//   std::string                        str                  std::string_view
//   endura::bytes                      [u8]                 const endura::bytes &
//   std::optional<T>                   Option<T>            const std::optional<T> &
//   endura::reverse<T>                 Reverse<T>           const endura::reverse<T> &
//   std::tuple of two to four of them  (A, B)               const std::tuple<A, B> &
//   endura::unit                       ()                   endura::unit
#ifndef ENDURA_CODEC_HPP
#define ENDURA_CODEC_HPP

#include "error.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace endura {

using bytes = std::vector<std::byte>;

// The value of a set.
struct unit {
  friend bool operator==(unit, unit) { return true; }
};

// Sorts from the largest value down.
template <class T> struct reverse {
  T value;
  friend bool operator==(const reverse &a, const reverse &b) { return a.value == b.value; }
};

// An encoding that is not one of the type: the map was written by another program, with another idea of its types.
class decode_error : public std::runtime_error {
public:
  explicit decode_error(const char *flaw) : std::runtime_error(std::string("endura: ") + flaw) {}
};

// A codec of a type of yours has the same members:
//   argument       how arguments are taken
//   ends_itself    whether one can tell where an encoding ends, so that another one may follow
//   is_number      whether endura_get_u64() and its kin take the type
//   type()         the name that pools record, one of endura_map_open()
//   encode, take   append an encoding; remove one from the front (all of the bytes if it does not end itself)
template <class T, class = void> struct codec;

namespace detail {

template <std::size_t Width> void put_number(std::uint64_t number, std::string &out) {
  for (std::size_t i = Width; i-- > 0;) out.push_back(static_cast<char>(number >> (8 * i) & 0xFF));
}

template <std::size_t Width> std::uint64_t take_number(std::string_view &in) {
  if (in.size() < Width) throw decode_error("an encoding is too short");
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < Width; i++) number = number << 8 | static_cast<unsigned char>(in[i]);
  in.remove_prefix(Width);
  return number;
}

// As a part of a tuple, an encoding without an end of its own ends with 0, 1; a 0 in it is 0, 255.
template <class T> void put_part(typename codec<T>::argument value, std::string &out) {
  if constexpr (codec<T>::ends_itself) {
    codec<T>::encode(value, out);
  } else {
    std::string whole;
    codec<T>::encode(value, whole);
    for (char byte : whole) {
      out.push_back(byte);
      if (byte == 0) out.push_back('\xFF');
    }
    out.append("\0\1", 2);
  }
}

template <class T> T take_part(std::string_view &in) {
  if constexpr (codec<T>::ends_itself) {
    return codec<T>::take(in);
  } else {
    std::string whole;
    for (bool ends = false; !ends;) {
      auto zero = in.find('\0');
      if (zero == in.npos || zero + 1 == in.size()) throw decode_error("a part has no end");
      whole.append(in.substr(0, zero));
      ends = in[zero + 1] == 1;
      if (!ends) whole.push_back(0);
      in.remove_prefix(zero + 2);
    }
    std::string_view rest = whole;
    return codec<T>::take(rest);
  }
}

} // namespace detail

template <class T> struct codec<T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>>> {
  using argument = T;
  static constexpr bool ends_itself = true, is_number = true;
  static constexpr std::uint64_t bias = std::is_signed_v<T> ? std::uint64_t{1} << (8 * sizeof(T) - 1) : 0;
  static std::string type() { return (std::is_signed_v<T> ? "i" : "u") + std::to_string(8 * sizeof(T)); }
  static void encode(T value, std::string &out) { detail::put_number<sizeof(T)>(static_cast<std::uint64_t>(value) ^ bias, out); }
  static T take(std::string_view &in) { return static_cast<T>(detail::take_number<sizeof(T)>(in) ^ bias); }
};

template <class T> struct codec<T, std::enable_if_t<std::is_floating_point_v<T> && std::numeric_limits<T>::is_iec559 && sizeof(T) <= 8>> {
  using argument = T;
  using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  static constexpr bool ends_itself = true, is_number = false;
  static constexpr bits sign = bits{1} << (8 * sizeof(T) - 1);
  static std::string type() { return "f" + std::to_string(8 * sizeof(T)); }
  static void encode(T value, std::string &out) {
    bits word;
    std::memcpy(&word, &value, sizeof word);
    detail::put_number<sizeof(T)>((word & sign) != 0 ? static_cast<bits>(~word) : word ^ sign, out);
  }
  static T take(std::string_view &in) {
    bits word = static_cast<bits>(detail::take_number<sizeof(T)>(in));
    word = (word & sign) != 0 ? word ^ sign : static_cast<bits>(~word);
    T value;
    std::memcpy(&value, &word, sizeof value);
    return value;
  }
};

template <> struct codec<bool> {
  using argument = bool;
  static constexpr bool ends_itself = true, is_number = false;
  static std::string type() { return "bool"; }
  static void encode(bool value, std::string &out) { out.push_back(value ? 1 : 0); }
  static bool take(std::string_view &in) { return detail::take_number<1>(in) != 0; }
};

template <> struct codec<unit> {
  using argument = unit;
  static constexpr bool ends_itself = true, is_number = false;
  static std::string type() { return "()"; }
  static void encode(unit, std::string &) {}
  static unit take(std::string_view &) { return {}; }
};

template <> struct codec<std::string> {
  using argument = std::string_view;
  static constexpr bool ends_itself = false, is_number = false;
  static std::string type() { return "str"; }
  static void encode(std::string_view value, std::string &out) { out.append(value); }
  static std::string take(std::string_view &in) { return std::string(std::exchange(in, {})); }
};

template <> struct codec<bytes> {
  using argument = const bytes &;
  static constexpr bool ends_itself = false, is_number = false;
  static std::string type() { return "[u8]"; }
  static void encode(const bytes &value, std::string &out) {
    out.append(reinterpret_cast<const char *>(value.data()), value.size());
  }
  static bytes take(std::string_view &in) {
    auto all = std::exchange(in, {});
    auto begin = reinterpret_cast<const std::byte *>(all.data());
    return bytes(begin, begin + all.size());
  }
};

template <class T> struct codec<std::optional<T>> {
  using argument = const std::optional<T> &;
  static constexpr bool ends_itself = true, is_number = false;
  static std::string type() { return "Option<" + codec<T>::type() + ">"; }
  static void encode(argument value, std::string &out) {
    out.push_back(value ? 1 : 0);
    if (value) detail::put_part<T>(*value, out);
  }
  static std::optional<T> take(std::string_view &in) {
    if (detail::take_number<1>(in) == 0) return std::nullopt;
    return detail::take_part<T>(in);
  }
};

template <class T> struct codec<reverse<T>> {
  using argument = const reverse<T> &;
  static constexpr bool ends_itself = true, is_number = false;
  static std::string type() { return "Reverse<" + codec<T>::type() + ">"; }
  static void encode(argument value, std::string &out) {
    auto start = out.size();
    detail::put_part<T>(value.value, out);
    for (auto i = start; i < out.size(); i++) out[i] = static_cast<char>(~out[i]);
  }
  static reverse<T> take(std::string_view &in) {
    std::string turned(in);
    for (char &byte : turned) byte = static_cast<char>(~byte);
    std::string_view rest = turned;
    reverse<T> value{detail::take_part<T>(rest)};
    in.remove_prefix(in.size() - rest.size());
    return value;
  }
};

template <class... T> struct codec<std::tuple<T...>> {
  static_assert(sizeof...(T) >= 2 && sizeof...(T) <= 4, "tuples have two to four parts");
  using argument = const std::tuple<T...> &;
  static constexpr bool ends_itself = true, is_number = false;
  static std::string type() {
    std::string name;
    ((name += (name.empty() ? "(" : ", ") + codec<T>::type()), ...);
    return name + ")";
  }
  static void encode(argument value, std::string &out) {
    std::apply([&](const T &...part) { (detail::put_part<T>(part, out), ...); }, value);
  }
  // Braces: the parts are taken from left to right.
  static std::tuple<T...> take(std::string_view &in) { return std::tuple<T...>{detail::take_part<T>(in)...}; }
};

namespace detail {

// The encoding of an argument, which lives as long as the argument and this object.
template <class T> class encoded {
public:
  explicit encoded(typename codec<T>::argument value) {
    if constexpr (std::is_same_v<T, std::string>) {
      slice_ = detail::slice(value);
    } else if constexpr (std::is_same_v<T, bytes>) {
      slice_ = {value.data(), value.size()};
    } else {
      codec<T>::encode(value, own_);
      slice_ = detail::slice(own_);
    }
  }
  encoded(const encoded &) = delete;
  encoded &operator=(const encoded &) = delete;
  operator endura_slice() const { return slice_; }
  const endura_slice *pointer() const { return &slice_; }

private:
  std::string own_;
  endura_slice slice_{};
};

template <class T> T decoded(std::string_view in) {
  T value = codec<T>::take(in);
  if (!in.empty()) throw decode_error("an encoding is too long");
  return value;
}

} // namespace detail
} // namespace endura
#endif
