#include "gpu_worker/app/serve_end.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <memory>

#include "gpu_worker/app/end_signal.h"
#include "gpu_worker/sidecar/sidecar_form.h"

namespace evenpack::worker {
namespace {

constexpr std::chrono::milliseconds kAtOnce{0};
constexpr std::chrono::hours kNever{1};

class Form final : public SidecarForm {
 public:
  explicit Form(absl::Status device) : device_(std::move(device)) {}

  ArenaMaker ArenasOf(uint64_t) const override { return {}; }
  absl::Status Check() const override { return device_; }
  absl::StatusOr<std::unique_ptr<RankForm>> OpenRank(uint64_t) const override {
    return device_;
  }

 private:
  const absl::Status device_;
};

// In processes of their own, which they end.
TEST(ServeEndTest, ADeviceThatIsLostEndsTheProcessWithStatusOne) {
  EXPECT_EXIT(
      {
        if (!EndSignal::Expect().ok()) _exit(7);
        AwaitEnd(Form(absl::InternalError("the device failed: ILLEGAL_ADDRESS (700)")),
                 kAtOnce);
        _exit(0);
      },
      ::testing::ExitedWithCode(1),
      "evenpack-worker: the device failed: ILLEGAL_ADDRESS \\(700\\); this process "
      "can't use the device any more, start it again");
}

TEST(ServeEndTest, ASignalEndsItInOrder) {
  EXPECT_EXIT(
      {
        if (!EndSignal::Expect().ok()) _exit(7);
        std::raise(SIGTERM);
        AwaitEnd(Form(absl::OkStatus()), kNever);
        _exit(0);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace evenpack::worker
