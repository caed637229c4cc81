#include "server/store/lease_share.h"

#include <algorithm>

namespace evenpack {

LeaseMoves MovesOf(const std::string& me, std::span<const ServerLoad> servers,
                   bool left_over) {
  int64_t jobs = 0;
  int64_t free = 0;
  int64_t takers = 0;
  int64_t mine = 0;
  bool takes = false;
  for (const ServerLoad& server : servers) {
    jobs += server.jobs;
    if (!server.lives) free += server.jobs;
    if (server.lives && server.takes) ++takers;
    if (server.server != me) continue;
    mine = server.jobs;
    takes = server.lives && server.takes;
  }
  LeaseMoves moves;
  // Who drains moves its jobs by itself.
  if (!takes) return moves;
  const int64_t share = (jobs + takers - 1) / takers;
  const int64_t missing = std::max<int64_t>(share - mine, 0);
  moves.take = left_over ? free : std::min(free, missing);
  int64_t others_miss = 0;
  for (const ServerLoad& server : servers) {
    if (server.server == me || !server.lives || !server.takes) continue;
    others_miss += std::max<int64_t>(share - server.jobs, 0);
  }
  // What nobody leads is theirs first.
  others_miss = std::max<int64_t>(others_miss - free, 0);
  moves.give = std::min(std::max<int64_t>(mine - share, 0), others_miss);
  return moves;
}

}  // namespace evenpack
