// Failures as exceptions, and the small pieces that the other headers share.
#ifndef ENDURA_ERROR_HPP
#define ENDURA_ERROR_HPP

#include "../endura.h"

#include <exception>
#include <stdexcept>
#include <string_view>
#include <utility>

#if defined(__GNUC__) && !defined(__EXCEPTIONS)
#error "endura.hpp throws: compile with exceptions, or use endura.h"
#endif

namespace endura {

// A call that has failed. what() is the sentence of endura_last_error().
class error : public std::runtime_error {
public:
  explicit error(endura_status code)
      : std::runtime_error(endura_last_error()), code_(code), system_errno_(endura_last_errno()) {}
  endura_status code() const noexcept { return code_; }
  const char *name() const noexcept { return endura_status_name(code_); }
  int system_errno() const noexcept { return system_errno_; }

private:
  endura_status code_;
  int system_errno_;
};

// Throws if a call has failed; else returns its status.
inline endura_status check(endura_status status) {
  if (status < 0) throw error(status);
  return status;
}

namespace detail {

inline endura_slice slice(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view view(endura_slice slice) { return {static_cast<const char *>(slice.data), slice.len}; }

// A buffer that frees itself.
class buffer {
public:
  buffer() = default;
  buffer(const buffer &) = delete;
  buffer &operator=(const buffer &) = delete;
  ~buffer() { endura_buf_free(&buf_); }
  endura_buf *out() { return &buf_; }
  std::string_view view() const { return {buf_.data, buf_.len}; }

private:
  endura_buf buf_ = ENDURA_BUF;
};

// A handle that is released once.
template <class Handle, endura_status (*Release)(Handle)> class owner {
public:
  owner() = default;
  owner(owner &&other) noexcept : handle_(other.take()) {}
  owner &operator=(owner &&other) noexcept {
    if (this != &other) {
      Release(handle_);
      handle_ = other.take();
    }
    return *this;
  }
  ~owner() { Release(handle_); }
  Handle get() const noexcept { return handle_; }
  Handle *out() noexcept { return &handle_; }
  Handle take() noexcept { return std::exchange(handle_, Handle{0}); }

private:
  Handle handle_{0};
};

// Runs a callable in a callback of C: what it throws is kept until the call of the library has returned.
template <class F> class carried {
public:
  explicit carried(F &call) : call_(call) {}
  // The result of the callable, or `otherwise` if it has thrown.
  template <class... Arguments> int run(int otherwise, Arguments &&...arguments) noexcept {
    try {
      thrown_ = nullptr;
      return call_(std::forward<Arguments>(arguments)...);
    } catch (...) {
      thrown_ = std::current_exception();
      return otherwise;
    }
  }
  void rethrow() {
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  }

private:
  F &call_;
  std::exception_ptr thrown_;
};

} // namespace detail
} // namespace endura
#endif
