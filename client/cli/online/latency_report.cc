#include "client/cli/online/latency_report.h"

#include <cstdint>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/json_text.h"
#include "client/cli/online/message_json.h"
#include "client/cli/text_table.h"
#include "evenpack/v1/latency.pb.h"

namespace evenpack {
namespace {

std::string RankName(uint32_t dp_rank, uint32_t cp_rank) {
  return absl::StrCat("dp ", dp_rank, " cp ", cp_rank);
}

std::string StepsText(const v1::GetLatencyResponse& latency) {
  TextTable table({{"step"},
                   {"ranks"},
                   {"us"},
                   {"even"},
                   {"packing"},
                   {"cp sharding"},
                   {"communication"},
                   {"machine"},
                   {"latest", kLeft}});
  for (const v1::StepLatency& step : latency.steps()) {
    const std::string ranks = absl::StrCat(step.ranks_reported(), "/", step.ranks());
    if (!step.has_excess()) {
      table.AddRow({absl::StrCat(step.step()), ranks, "", "", "", "", "", "", ""});
      continue;
    }
    const v1::StepExcess& excess = step.excess();
    table.AddRow({absl::StrCat(step.step()), ranks, Microseconds(excess.step_ns()),
                  Microseconds(excess.even_ns()), Microseconds(excess.packing_ns()),
                  Microseconds(excess.cp_sharding_ns()),
                  Microseconds(excess.communication_ns()),
                  Microseconds(excess.machine_ns()),
                  excess.has_latest()
                      ? RankName(excess.latest().dp_rank(), excess.latest().cp_rank())
                      : ""});
  }
  return table.ToString();
}

// The last step of which all ranks have reported; null where there is none.
const v1::StepLatency* LastWhole(const v1::GetLatencyResponse& latency) {
  const v1::StepLatency* last = nullptr;
  for (const v1::StepLatency& step : latency.steps()) {
    if (step.has_excess()) last = &step;
  }
  return last;
}

std::string RanksText(const v1::StepLatency& step) {
  TextTable table({{"rank", kLeft},
                   {"predicted"},
                   {"forward"},
                   {"backward"},
                   {"waited"},
                   {"late"}});
  for (const v1::RankLatency& rank : step.rank_latencies()) {
    table.AddRow({RankName(rank.dp_rank(), rank.cp_rank()),
                  Microseconds(rank.predicted_forward_ns()),
                  Microseconds(rank.forward_ns()), Microseconds(rank.backward_ns()),
                  Microseconds(rank.waited_ns()), Microseconds(rank.late_ns())});
  }
  return absl::StrFormat(
      "\nranks of step %d, us; predictions are scaled by %.3f to tell who is late\n%s",
      step.step(), step.excess().scale(), table.ToString());
}

// The rank that was latest in most steps, and most of them there.
std::string StragglerText(const v1::GetLatencyResponse& latency) {
  struct Lateness {
    int steps = 0;
    int64_t ns = 0;
  };
  std::map<std::pair<uint32_t, uint32_t>, Lateness> ranks;
  int whole = 0;
  for (const v1::StepLatency& step : latency.steps()) {
    if (!step.has_excess()) continue;
    ++whole;
    if (!step.excess().has_latest()) continue;
    const v1::LateRank& latest = step.excess().latest();
    Lateness& rank = ranks[{latest.dp_rank(), latest.cp_rank()}];
    ++rank.steps;
    rank.ns += latest.late_ns();
  }
  const std::pair<const std::pair<uint32_t, uint32_t>, Lateness>* most = nullptr;
  for (const auto& entry : ranks) {
    if (most == nullptr || entry.second.steps > most->second.steps) most = &entry;
  }
  if (most == nullptr) return "";
  return absl::StrCat("\nlatest in ", most->second.steps, " of ", whole,
                      " steps: ", RankName(most->first.first, most->first.second),
                      ", by ", Microseconds(most->second.ns / most->second.steps),
                      " us a step\n");
}

// By how much the job's costs are off; empty where no micro-batch was measured.
std::string CalibrationText(const v1::CostCalibration& calibration) {
  if (calibration.observations() == 0) return "";
  if (!calibration.has_measured()) {
    return absl::StrCat("\n", calibration.observations(),
                        " micro-batches were measured, too few to hold against the "
                        "job's costs\n");
  }
  TextTable table({{"costs are multiplied by", kLeft}, {"attention"}, {"linear"}});
  const auto add = [&table](const char* name, const v1::CostScales& scales) {
    table.AddRow({name, absl::StrFormat("%.4f", scales.attention()),
                  absl::StrFormat("%.4f", scales.linear())});
  };
  add("applied", calibration.applied());
  add("measured", calibration.measured());
  add("suggested", calibration.suggested());
  return absl::StrCat(
      "\n", table.ToString(), "from ", calibration.observations(), " micro-batches",
      calibration.separable()
          ? "\n"
          : ", which don't tell the two apart: one factor for both\n",
      calibration.calibrations() == 0
          ? ""
          : absl::StrCat("set by the server ", calibration.calibrations(), " times\n"));
}

std::string AttentionText(const v1::GetLatencyResponse& latency) {
  if (latency.steps().empty())
    return "no rank has reported of the attention of the last steps\n";
  std::string text = StepsText(latency);
  if (const v1::StepLatency* last = LastWhole(latency)) text += RanksText(*last);
  return text + StragglerText(latency);
}

}  // namespace

std::string LatencyText(const v1::GetLatencyResponse& latency) {
  return AttentionText(latency) + CalibrationText(latency.calibration());
}

std::string LatencyJson(const v1::GetLatencyResponse& latency) {
  return JsonText(MessageJson(latency));
}

}  // namespace evenpack
