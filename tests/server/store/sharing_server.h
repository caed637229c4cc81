// A server over a PostgreSQL store, as far as it leads jobs: it reads those that it is
// told of, and gives those that it is asked for.
#ifndef EVENPACK_TESTS_SERVER_STORE_SHARING_SERVER_H_
#define EVENPACK_TESTS_SERVER_STORE_SHARING_SERVER_H_

#include <functional>
#include <initializer_list>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "server/store/postgresql_store.h"
#include "tests/server/store/recorded_lead.h"

namespace evenpack::testing {

class SharingServer {
 public:
  // Has joined, or the test fails.
  SharingServer(const std::string& target, const std::string& address,
                const LeaseTiming& timing = {});

  PostgresqlStore& store() { return *store_; }
  RecordedLead& lead() { return lead_; }
  absl::Status Commit(const std::vector<StoreWrite>& writes);
  // As the store's.
  absl::StatusOr<std::string> HandOver(const std::string& job);
  // How many jobs it leads and has read.
  size_t jobs() const { return jobs_.size(); }
  // Does what it was told since the last time; which that was.
  std::vector<std::string> Work();

 private:
  std::set<std::string> jobs_;
  RecordedLead lead_;
  const std::unique_ptr<PostgresqlStore> store_;
};

// Lets them work until `is_so`; false where it isn't within 30 seconds.
bool WorkUntil(std::initializer_list<SharingServer*> servers,
               const std::function<bool()>& is_so);

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_SERVER_STORE_SHARING_SERVER_H_
