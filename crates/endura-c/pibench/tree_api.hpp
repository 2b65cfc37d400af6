// What PiBench calls. The order of the virtual functions and of the fields is its binary interface.
#pragma once

#include <cstddef>
#include <string>

struct tree_options_t {
  std::size_t key_size = 8;
  std::size_t value_size = 8;
  std::string pool_path;
  std::size_t pool_size = 0;
  std::size_t num_threads = 1;
};

class tree_api {
public:
  virtual ~tree_api() = default;
  virtual bool find(const char *key, std::size_t key_size, char *value_out) = 0;
  virtual bool insert(const char *key, std::size_t key_size, const char *value, std::size_t value_size) = 0;
  virtual bool update(const char *key, std::size_t key_size, const char *value, std::size_t value_size) = 0;
  virtual bool remove(const char *key, std::size_t key_size) = 0;
  virtual int scan(const char *key, std::size_t key_size, int scan_size, char *&values_out) = 0;
};

extern "C" tree_api *create_tree(const tree_options_t &options);
