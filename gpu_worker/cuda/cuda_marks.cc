#include "gpu_worker/cuda/cuda_marks.h"

#include <utility>

namespace evenpack::worker {

class CudaMarks::Mark final : public DeviceMark {
 public:
  Mark(CudaMarks& marks, std::unique_ptr<CudaEvent> event)
      : marks_(marks), event_(std::move(event)) {}
  ~Mark() override { marks_.unused_.push_back(std::move(event_)); }
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
    : context_(std::move(context)) {}

absl::StatusOr<std::unique_ptr<DeviceMark>> CudaMarks::After(cuda::Stream stream) {
  std::unique_ptr<CudaEvent> event;
  if (unused_.empty()) {
    absl::StatusOr<std::unique_ptr<CudaEvent>> made =
        CudaEvent::Create(context_, CudaEvent::Use::kTiming);
    if (!made.ok()) return made.status();
    event = *std::move(made);
  } else {
    event = std::move(unused_.back());
    unused_.pop_back();
  }
  absl::Status status = event->Record(stream);
  auto mark = std::make_unique<Mark>(*this, std::move(event));
  if (!status.ok()) return status;
  return mark;
}

}  // namespace evenpack::worker
