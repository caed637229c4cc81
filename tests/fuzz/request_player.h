// One job that requests of the API are played to, as the service would: read, convert,
// decide, apply, tell.
#ifndef EVENPACK_TESTS_FUZZ_REQUEST_PLAYER_H_
#define EVENPACK_TESTS_FUZZ_REQUEST_PLAYER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "server/sessions/step_window.h"
#include "tests/fuzz/fuzz_job.h"
#include "tests/fuzz/ledger.h"
#include "tests/fuzz/request_list.h"

namespace evenpack::v1 {
class AcknowledgeRequest;
class CheckpointJobRequest;
class CreateJobRequest;
class GetStepRequest;
class IngestRequest;
class JobSpec;
class RestoreJobRequest;
class RewindJobRequest;
class SkipDocumentsRequest;
class StreamStepsRequest;
class UpdateJobRequest;
}  // namespace evenpack::v1

namespace evenpack::fuzz {

class RequestPlayer {
 public:
  // Bytes that are no message of their kind are left out.
  void Play(const Request& request);
  // What must hold at the end.
  void Finish() const;

  const FuzzJob& job() const { return job_; }
  // What is kept of the steps that were told.
  const StepWindow& window() const { return window_; }

 private:
  void Take(const v1::CreateJobRequest& request);
  void Take(const v1::UpdateJobRequest& request);
  void Take(const v1::IngestRequest& request);
  void Take(const v1::StreamStepsRequest& request);
  void Take(const v1::GetStepRequest& request);
  void Take(const v1::AcknowledgeRequest& request);
  void Take(const v1::CheckpointJobRequest& request);
  void Take(const v1::RestoreJobRequest& request);
  void Take(const v1::RewindJobRequest& request);
  void Take(const v1::SkipDocumentsRequest& request);

  template <typename Message>
  void TakeBytes(const std::string& bytes);

  // None where the spec is refused, or too large to be played with.
  std::optional<JobSpec> SpecOf(const v1::JobSpec& given) const;
  // The job was reconfigured, maybe from an earlier step on.
  void FollowReconfigured();
  bool FormOne();
  void Publish(const Step& step);
  void RequireGoesOn(const FuzzJob& restored) const;
  void GoOnFrom(FuzzJob restored);

  FuzzJob job_;
  Ledger ledger_;
  StepWindow window_;
  std::shared_ptr<const JobSpec> spec_;
  std::string stream_;
};

}  // namespace evenpack::fuzz

#endif  // EVENPACK_TESTS_FUZZ_REQUEST_PLAYER_H_
