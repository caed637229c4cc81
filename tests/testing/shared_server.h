// The control room of one of several servers over a shared store.
#ifndef EVENPACK_TESTS_TESTING_SHARED_SERVER_H_
#define EVENPACK_TESTS_TESTING_SHARED_SERVER_H_

#include <memory>
#include <string>

#include "server/control/cost_profile_registry.h"
#include "server/control/directory.h"
#include "server/control/job_moves.h"
#include "server/control/job_registry.h"
#include "tests/testing/control_room.h"
#include "tests/testing/shared_memory_store.h"

namespace evenpack::testing {

class SharedServer {
 public:
  static constexpr size_t kMaxJobs = 10;

  // Joins under this address.
  SharedServer(SharedMemory& memory, const std::string& address);
  ~SharedServer();

  SharedMemoryStore& store() { return store_; }
  ControlRoom& room() { return room_; }
  CostProfileRegistry& profiles() { return *profiles_; }
  Directory& directory() { return directory_; }
  JobRegistry& jobs() { return jobs_; }
  JobMoves& moves() { return moves_; }
  // Whether the store told that it can lead nothing any more.
  bool lost_all() const { return lost_all_; }

  absl::Status Create(const std::string& name);
  // Returns once no job moves.
  void Settle();
  // What the directory says of a job.
  absl::Status WhereIs(const std::string& job);

 private:
  SharedMemoryStore store_;
  ControlRoom room_{store_};
  const std::shared_ptr<CostProfileRegistry> profiles_ =
      std::make_shared<CostProfileRegistry>(room_.committer(), room_.store(),
                                            room_.clock());
  Directory directory_{store_, *profiles_, room_.clock()};
  JobRegistry jobs_{room_.environment(), kMaxJobs};
  std::atomic<bool> lost_all_ = false;
  JobMoves moves_{store_, room_.committer(), jobs_, directory_,
                  [this] { lost_all_ = true; }};
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_TESTING_SHARED_SERVER_H_
