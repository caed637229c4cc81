// A group and an engine that do nothing and tell in what order they were asked.
#ifndef EVENPACK_TESTS_GPU_WORKER_EXECUTOR_RECORDED_WORK_H_
#define EVENPACK_TESTS_GPU_WORKER_EXECUTOR_RECORDED_WORK_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gpu_worker/attention/attention_engine.h"
#include "gpu_worker/communicator/communicator.h"

namespace evenpack::worker::testing {

// "exchange 0 of 64 floats", "wait 0", "forward 2 heads, 1 tasks", "backward ...".
using WorkLog = std::vector<std::string>;

// The first of two ranks.
class RecordedGroup final : public Communicator {
 public:
  explicit RecordedGroup(WorkLog& log) : log_(log) {}

  uint32_t rank() const override { return 0; }
  uint32_t size() const override { return 2; }
  std::unique_ptr<Transfer> Start(const Exchange& exchange) override {
    log_.push_back(absl::StrCat("exchange ", next_, " of ",
                                exchange.row_bytes / sizeof(float), " floats"));
    return std::make_unique<Recorded>(log_, next_++);
  }
  void Abort(const absl::Status& reason) override {
    log_.push_back(absl::StrCat("abort: ", reason.message()));
  }

 private:
  class Recorded final : public Transfer {
   public:
    Recorded(WorkLog& log, int number) : log_(log), number_(number) {}
    absl::Status Wait() override {
      log_.push_back(absl::StrCat("wait ", number_));
      return absl::OkStatus();
    }

   private:
    WorkLog& log_;
    const int number_;
  };

  WorkLog& log_;
  int next_ = 0;
};

class RecordedEngine final : public AttentionEngine {
 public:
  explicit RecordedEngine(WorkLog& log) : log_(log) {}

  absl::Status Forward(const AttentionCall& call, const ForwardResult&) override {
    log_.push_back(Text("forward", call));
    return absl::OkStatus();
  }
  absl::Status Backward(const AttentionCall& call, const BackwardInput&,
                        const BackwardResult&) override {
    log_.push_back(Text("backward", call));
    return absl::OkStatus();
  }

 private:
  static std::string Text(const std::string& pass, const AttentionCall& call) {
    return absl::StrCat(pass, " ", call.shape.kv_heads, " heads, ", call.tasks.size(),
                        " tasks");
  }

  WorkLog& log_;
};

}  // namespace evenpack::worker::testing

#endif  // EVENPACK_TESTS_GPU_WORKER_EXECUTOR_RECORDED_WORK_H_
