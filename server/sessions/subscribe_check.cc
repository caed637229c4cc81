#include "server/sessions/subscribe_check.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/core/document/invalid_field.h"
#include "server/runtime/error_reason.h"
#include "server/runtime/request_limits.h"
#include "server/runtime/status_detail.h"

namespace evenpack {
namespace {

absl::Status CheckFields(const SubscribeRequest& request, const JobSpec& spec) {
  if (request.dp_rank >= spec.data_parallel) {
    return InvalidField("dp_rank", request.dp_rank,
                        absl::StrCat("0 to ", spec.data_parallel - 1));
  }
  if (request.cp_rank.has_value() && *request.cp_rank >= spec.context_parallel) {
    return InvalidField("cp_rank", *request.cp_rank,
                        absl::StrCat("0 to ", spec.context_parallel - 1));
  }
  absl::Status status =
      CheckBytes("subscriber", request.subscriber, 0, kMaxSubscriberBytes);
  if (!status.ok()) return status;
  if (request.credits < 1 || request.credits > kMaxCredits) {
    return InvalidField("credits", request.credits, absl::StrCat("1 to ", kMaxCredits));
  }
  if (request.last_digest.has_value() && !request.from_step.has_value()) {
    return InvalidField("last_digest", "a digest without from_step",
                        "one together with from_step");
  }
  if (request.last_epoch.has_value() && !request.from_step.has_value()) {
    return InvalidField("last_epoch", "an epoch without from_step",
                        "one together with from_step");
  }
  return absl::OkStatus();
}

absl::Status UnknownHistory(absl::string_view message) {
  return WithDetail(absl::DataLossError(message), {kHistoryDiffers, {}});
}

absl::Status CheckHistory(const SubscribeRequest& request, uint64_t from,
                          const StepWindow& window) {
  if (from < window.begin()) return StepLetGo(from, window.begin());
  if (from > window.end()) {
    return UnknownHistory(absl::StrCat(
        "from_step: ", from, " is beyond this job's history, whose next step is ",
        window.end(), "; the steps before it came from another history"));
  }
  if (request.last_digest.has_value() &&
      *request.last_digest != window.DigestBefore(from)) {
    return UnknownHistory(absl::StrCat(
        "last_digest: ", ToHex(*request.last_digest), " is not that of step ",
        from == 0 ? "0's predecessor" : absl::StrCat(from - 1),
        " here; the client's steps came from another history"));
  }
  const std::optional<uint64_t> epoch = window.EpochBefore(from);
  if (!request.last_epoch.has_value() || !epoch.has_value() ||
      *request.last_epoch == *epoch) {
    return absl::OkStatus();
  }
  return UnknownHistory(absl::StrCat("last_epoch: ", *request.last_epoch,
                                     " is not that of step ", from - 1,
                                     " here, which was formed again in epoch ", *epoch,
                                     "; the client's was withdrawn"));
}

}  // namespace

bool TakesLayout(const SubscribeRequest& request, const JobSpec& spec) {
  return !request.layout.has_value() || *request.layout == spec.layout.kind;
}

absl::Status LayoutDiffers(const SubscribeRequest& request, const JobSpec& spec,
                           absl::string_view whose) {
  return WithDetail(
      absl::FailedPreconditionError(absl::StrCat(
          "layout: ", LayoutName(*request.layout),
          " is not accepted; accepted: ", LayoutName(spec.layout.kind), ", ", whose)),
      {"LAYOUT_DIFFERS", {{"layout", std::string(LayoutName(spec.layout.kind))}}});
}

absl::StatusOr<uint64_t> CheckSubscribe(const SubscribeRequest& request,
                                        const SessionView& view) {
  // The epoch first: a rank of the old shape may not be one of the new.
  if (request.epoch.has_value() && *request.epoch != view.epoch) {
    return EpochEnded(view.spec, view.epoch);
  }
  absl::Status status = CheckFields(request, view.spec);
  if (!status.ok()) return status;
  if (!TakesLayout(request, view.spec)) {
    return LayoutDiffers(request, view.spec, "the job's");
  }
  const uint64_t from = request.from_step.value_or(view.durable[request.dp_rank]);
  status = CheckHistory(request, from, view.window);
  if (!status.ok()) return status;
  return from;
}

}  // namespace evenpack
