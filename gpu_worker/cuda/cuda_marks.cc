#include "gpu_worker/cuda/cuda_marks.h"

#include <utility>

namespace evenpack::worker {

class CudaMarks::Mark final : public DeviceMark {
 public:
  Mark(CudaMarks& marks, std::unique_ptr<CudaEvent> event)
      : marks_(marks), event_(std::move(event)) {}
  ~Mark() override { marks_.events_.GiveBack(std::move(event_)); }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;

  absl::StatusOr<int64_t> Since(const DeviceMark& earlier) const override {
    return event_->Since(*static_cast<const Mark&>(earlier).event_);
  }

 private:
  CudaMarks& marks_;
  std::unique_ptr<CudaEvent> event_;
};

CudaMarks::CudaMarks(std::shared_ptr<const CudaContext> context)
    : events_(std::move(context), CudaEvent::Use::kTiming) {}

absl::StatusOr<std::unique_ptr<DeviceMark>> CudaMarks::After(cuda::Stream stream) {
  absl::StatusOr<std::unique_ptr<CudaEvent>> event = events_.Recorded(stream);
  if (!event.ok()) return event.status();
  return std::make_unique<Mark>(*this, *std::move(event));
}

}  // namespace evenpack::worker
