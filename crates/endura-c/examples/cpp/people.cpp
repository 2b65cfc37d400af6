// An index beside the data: people by number, and by name. Both change in one batch, so that they never disagree.
#include <endura.hpp>

#include <cstdio>
#include <string>

namespace {

using by_name_key = std::tuple<std::string, std::uint64_t>;

class people {
public:
  explicit people(endura::pool &pool)
      : pool_(pool), names_(pool.map<std::uint64_t, std::string>("people")),
        by_name_(pool.map<by_name_key, endura::unit>("people by name")) {}

  // Gives a number a name. Another thread may do the same at the same time: one of both waits, and neither is half made.
  void name(std::uint64_t number, const std::string &name) {
    pool_.transact([&](endura::transaction &run) {
      if (auto old = run.get(names_, number)) run.erase(by_name_, {*old, number});
      run.put(names_, number, name);
      run.put(by_name_, {name, number}, {});
    });
  }
  // Adds a person unless the number is taken.
  bool add(std::uint64_t number, const std::string &name) {
    auto batch = pool_.batch();
    batch.expect(names_, number, std::nullopt).put(names_, number, name).put(by_name_, {name, number}, {});
    return !batch.commit();
  }
  std::vector<std::uint64_t> numbers(const std::string &name) const {
    std::vector<std::uint64_t> found;
    for (const auto &[key, nothing] : by_name_.starting_with(name)) {
      static_cast<void>(nothing);
      found.push_back(std::get<1>(key));
    }
    return found;
  }

private:
  endura::pool &pool_;
  endura::map<std::uint64_t, std::string> names_;
  endura::map<by_name_key, endura::unit> by_name_;
};

} // namespace

int main(int count, char **arguments) try {
  endura::pool pool(count > 1 ? arguments[1] : "people.endura");
  people all(pool);
  all.name(7, "Eve");
  all.name(8, "Ada");
  all.name(7, "Ada");
  if (all.add(7, "Alan")) return 1;
  if (!all.numbers("Eve").empty() || !all.numbers("Ad").empty()) return 1;
  if (all.numbers("Ada") != std::vector<std::uint64_t>{7, 8}) return 1;
  std::puts(pool.maps().c_str());
  return pool.close() ? 0 : 1;
} catch (const endura::error &failed) {
  std::fprintf(stderr, "%s: %s\n", failed.name(), failed.what());
  return 1;
}
