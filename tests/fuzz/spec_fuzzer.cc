// A job's spec as JSON, YAML or textproto is refused with its place, or comes back from
// its JSON unchanged.
#include <google/protobuf/util/message_differencer.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/online/message_json.h"
#include "client/cli/online/spec_file.h"
#include "client/cli/online/yaml_json.h"
#include "evenpack/v1/job.pb.h"
#include "tests/fuzz/require.h"

namespace evenpack::fuzz {
namespace {

using google::protobuf::util::MessageDifferencer;

constexpr std::array<const char*, 4> kPaths = {"spec.json", "spec.yaml",
                                               "spec.textproto", "spec"};

// JSON has no number for the others, and the server accepts none of them.
bool HasJson(const v1::JobSpec& spec) {
  const v1::HardwareFigures& a = spec.cost().analytic().hardware().figures();
  const v1::HardwareFigures& b = spec.cost().profiled().linear().hardware().figures();
  for (const double value :
       {spec.backlog_limit(), a.peak_flops(), a.linear_fraction(),
        a.attention_fraction(), b.peak_flops(), b.linear_fraction(),
        b.attention_fraction(), spec.cost().attention_scale(),
        spec.cost().linear_scale()}) {
    if (!std::isfinite(value)) return false;
  }
  return true;
}

void RequireSurvivesJson(const v1::JobSpec& spec) {
  using nlohmann::ordered_json;
  const std::string json = MessageJson(spec).dump();
  Require(ordered_json::accept(json), "a message's JSON is JSON");
  for (const char* path : {"spec.json", "spec.yaml"}) {
    v1::JobSpec again;
    RequireOk(ParseSpec(path, json, again), absl::StrCat(path, " of ", json));
    Require(MessageDifferencer::Equals(spec, again), "a spec survives its JSON", json);
  }
}

// Bytes that are no UTF-8 can't be sent, so nothing is promised of them.
bool IsText(const v1::JobSpec& spec) {
  v1::JobSpec sent;
  return sent.ParseFromString(spec.SerializeAsString());
}

}  // namespace
}  // namespace evenpack::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenpack;
  if (size == 0) return 0;
  const std::string path = fuzz::kPaths[data[0] % fuzz::kPaths.size()];
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  v1::JobSpec spec;
  const absl::Status status = ParseSpec(path, text, spec);
  if (!status.ok()) {
    fuzz::RequireRefusal(status, "text that is no spec",
                         absl::StatusCode::kInvalidArgument);
    fuzz::Require(absl::StartsWith(status.message(), absl::StrCat("--spec '", path)),
                  "a refused file is named", status.message());
  } else if (fuzz::HasJson(spec) && fuzz::IsText(spec)) {
    fuzz::RequireSurvivesJson(spec);
  }
  return 0;
}
