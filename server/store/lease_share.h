// How many jobs a server of a shared store takes and gives, so that all lead equally
// many.
#ifndef EVENPACK_SERVER_STORE_LEASE_SHARE_H_
#define EVENPACK_SERVER_STORE_LEASE_SHARE_H_

#include <cstdint>
#include <span>
#include <string>

namespace evenpack {

// A server as the database has it.
struct ServerLoad {
  // Empty: nobody, of the jobs that were released.
  std::string server;
  // It was heard of while its lease lasted. Others may take what a dead one leads.
  bool lives = false;
  // It takes jobs; one that drains doesn't.
  bool takes = false;
  // That it leads.
  int64_t jobs = 0;

  friend bool operator==(const ServerLoad&, const ServerLoad&) = default;
};

struct LeaseMoves {
  // At most so many of those that nobody leads.
  int64_t take = 0;
  // To servers that lead too few.
  int64_t give = 0;

  friend bool operator==(const LeaseMoves&, const LeaseMoves&) = default;
};

// What server `me` is to do. A share is the number of jobs over the number of servers
// that take, rounded up. Jobs that nobody leads are taken up to the share, or all of
// them where they were `left_over`: others had time to take theirs. Given is what is
// above the share, where others are below it: then nothing comes back.
LeaseMoves MovesOf(const std::string& me, std::span<const ServerLoad> servers,
                   bool left_over);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_STORE_LEASE_SHARE_H_
