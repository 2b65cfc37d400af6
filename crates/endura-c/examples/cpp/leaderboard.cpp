// The best of a game: scores from the highest down, and the rank of a player.
#include <endura.hpp>

#include <cstdio>

int main(int count, char **arguments) try {
  endura::options options;
  options.flags = ENDURA_CHECKPOINTS_ON_DEMAND;
  endura::pool pool(count > 1 ? arguments[1] : "scores.endura", options);
  // The highest score sorts first; equal ones by name.
  auto board = pool.map<std::tuple<endura::reverse<std::int32_t>, std::string>, endura::unit>("board");
  auto scores = pool.map<std::string, std::int32_t>("scores");

  auto score = [&](const std::string &player, std::int32_t points) {
    pool.transact([&](endura::transaction &run) {
      if (auto old = run.get(scores, player)) run.erase(board, {{*old}, player});
      run.put(scores, player, points);
      run.put(board, {{points}, player}, {});
    });
  };
  score("ada", 40);
  score("alan", 70);
  score("grace", -5);
  score("ada", 90);

  std::string order;
  for (const auto &[key, nothing] : board.all()) {
    static_cast<void>(nothing);
    std::printf("%6d %s\n", static_cast<int>(std::get<0>(key).value), std::get<1>(key).c_str());
    order += std::get<1>(key) + " ";
  }
  scores.update("grace", [](const std::optional<std::int32_t> &points) { return points.value_or(0) + 1; });
  if (scores.increment("alan", 5) != 75 || scores.get("grace") != -4) return 1;
  return order == "ada alan grace " && pool.close() ? 0 : 1;
} catch (const std::exception &failed) {
  std::fprintf(stderr, "%s\n", failed.what());
  return 1;
}
