// What a shared store told its listener.
#ifndef EVENPACK_TESTS_SERVER_STORE_RECORDED_LEAD_H_
#define EVENPACK_TESTS_SERVER_STORE_RECORDED_LEAD_H_

#include <string>
#include <vector>

#include "server/runtime/mutex.h"
#include "server/store/shared_store.h"

namespace evenpack::testing {

// Thread-safe.
class RecordedLead final : public LeadListener {
 public:
  void OnTaken(const std::string& job) override { Record("taken " + job); }
  void OnLost(const std::string& job) override { Record("lost " + job); }
  void OnAskedToGive(const std::string& job) override { Record("give " + job); }
  void OnCutOff() override { Record("cut off"); }
  void OnProfilesChanged() override { Record("profiles"); }
  void OnLostAll(const absl::Status& why) override {
    Record("lost all: " + std::string(why.message()));
  }

  // All so far, since the last call.
  std::vector<std::string> Take();
  // Returns once that was told; false where it has not been within 30 seconds.
  bool Await(const std::string& event);

 private:
  void Record(std::string event);

  Mutex mutex_;
  CondVar changed_;
  std::vector<std::string> events_ EVENPACK_GUARDED_BY(mutex_);
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_SERVER_STORE_RECORDED_LEAD_H_
