#include "client/cli/top/step_bars.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/text_table.h"
#include "evenpack/v1/observation.pb.h"

namespace evenpack {
namespace {

using Workloads = google::protobuf::RepeatedField<int64_t>;

// Where bars begin, and what stands behind them.
constexpr size_t kBarStart = 16;
constexpr size_t kStepFigures = 18;
constexpr size_t kMicroBatchFigures = 38;
// Micro-batches that have a line each.
constexpr int kMostLines = 8;
constexpr int64_t kNoWorkload = 0;

int64_t Slowest(const Workloads& workloads) {
  return workloads.empty() ? kNoWorkload
                           : *std::max_element(workloads.begin(), workloads.end());
}

int64_t Mean(const Workloads& workloads) {
  if (workloads.empty()) return kNoWorkload;
  return std::accumulate(workloads.begin(), workloads.end(), int64_t{0}) /
         workloads.size();
}

size_t BarWidth(const FrameStyle& style, size_t figures) {
  const size_t taken = kBarStart + figures;
  return style.columns > taken ? style.columns - taken : 0;
}

// Columns of a bar of `width` for the heaviest.
size_t Length(int64_t workload, int64_t heaviest, size_t width) {
  if (heaviest == 0) return 0;
  return static_cast<size_t>(
      std::lround(static_cast<double>(workload) / static_cast<double>(heaviest) *
                  static_cast<double>(width)));
}

// A bar from `from`, where the one before it ended; where the next one begins.
size_t Extend(FrameLine& line, size_t from, size_t to, Tone tone) {
  if (to <= from) return from;
  line.Fill(to - from, tone);
  return to;
}

const char* KindOf(v1::StepKind kind) {
  switch (kind) {
    case v1::STEP_KIND_BACKLOG:
      return "backlog";
    case v1::STEP_KIND_DRAIN:
      return "drain";
    default:
      return "";
  }
}

std::string Milliseconds(int64_t ns) {
  return absl::StrFormat("%.1f ms", static_cast<double>(ns) / 1e6);
}

std::string StepLine(const v1::ObservedStep& step, int64_t heaviest,
                     const FrameStyle& style) {
  const size_t width = BarWidth(style, kStepFigures);
  FrameLine line(style);
  line.Add(absl::StrFormat("%7d %s", step.index(), KindOf(step.kind()))).Tab(kBarStart);
  size_t end =
      Extend(line, 0, Length(Mean(step.workload_ns()), heaviest, width), Tone::kMean);
  end = Extend(line, end, Length(Slowest(step.workload_ns()), heaviest, width),
               Tone::kExcess);
  Extend(line, end, Length(Slowest(step.original_workload_ns()), heaviest, width),
         Tone::kOriginal);
  line.Tab(kBarStart + width + 1).Add(absl::StrFormat("%8.3f", step.imbalance()));
  if (step.original_imbalance() > 0) {
    line.Add(absl::StrFormat("%9.3f", step.original_imbalance()));
  }
  return line.Take();
}

// The last step with columns; null where there is none.
const v1::ObservedStep* LastStep(const v1::ObserveJobResponse& observed) {
  const auto& steps = observed.steps();
  return steps.empty() || steps.rbegin()->workload_ns().empty() ? nullptr
                                                                : &*steps.rbegin();
}

std::string MicroBatchLine(const v1::ObservedStep& step, int i, int64_t heaviest,
                           const FrameStyle& style) {
  const size_t width = BarWidth(style, kMicroBatchFigures);
  const int64_t workload = step.workload_ns(i);
  const bool has_original = i < step.original_workload_ns_size();
  FrameLine line(style);
  line.Add(absl::StrFormat("%15d", i)).Tab(kBarStart);
  const size_t end = Extend(line, 0, Length(workload, heaviest, width), Tone::kMean);
  if (has_original) {
    Extend(line, end, Length(step.original_workload_ns(i), heaviest, width),
           Tone::kOriginal);
  }
  const std::string tokens = i < step.tokens_size() ? Grouped(step.tokens(i)) : "";
  line.Tab(kBarStart + width + 1)
      .Add(absl::StrFormat("%13s%11s", Milliseconds(workload), tokens));
  if (has_original) {
    line.Add(absl::StrFormat("%13s", Milliseconds(step.original_workload_ns(i))));
  }
  return line.Take();
}

// A column for each of `width` neighbourhoods.
std::string ColumnsLine(const char* name, const Workloads& workloads, int64_t heaviest,
                        Tone tone, const FrameStyle& style) {
  FrameLine line(style);
  line.Add(name).Tab(kBarStart);
  const auto count = static_cast<size_t>(workloads.size());
  const size_t width = std::min(count, line.room());
  for (size_t i = 0; i < width; ++i) {
    const auto begin = static_cast<std::ptrdiff_t>(i * count / width);
    const auto end = static_cast<std::ptrdiff_t>((i + 1) * count / width);
    const int64_t workload =
        *std::max_element(workloads.begin() + begin, workloads.begin() + end);
    line.Column(static_cast<double>(workload) / static_cast<double>(heaviest), tone);
  }
  return line.Take();
}

}  // namespace

FrameSection StepBars(const v1::ObserveJobResponse& observed, const FrameStyle& style) {
  FrameSection section;
  FrameLine title(style);
  title.Add("steps", Tone::kTitle).Tab(kBarStart);
  title.Add("mean", Tone::kMean).Add(" + slowest", Tone::kExcess);
  title.Add(", behind them original's", Tone::kOriginal);
  title.Tab(kBarStart + BarWidth(style, kStepFigures) + 1).Add("imbal'ce original");
  section.title = title.Take();
  int64_t heaviest = 1;
  for (const v1::ObservedStep& step : observed.steps()) {
    heaviest = std::max(
        {heaviest, Slowest(step.workload_ns()), Slowest(step.original_workload_ns())});
  }
  for (int i = observed.steps_size(); i-- > 0;) {
    section.lines.push_back(StepLine(observed.steps(i), heaviest, style));
  }
  return section;
}

FrameSection MicroBatchBars(const v1::ObserveJobResponse& observed,
                            const FrameStyle& style) {
  FrameSection section;
  const v1::ObservedStep* const step = LastStep(observed);
  if (step == nullptr) return section;
  FrameLine title(style);
  title.Add(absl::StrCat("step ", step->index()), Tone::kTitle).Tab(kBarStart);
  const int64_t heaviest = std::max({int64_t{1}, Slowest(step->workload_ns()),
                                     Slowest(step->original_workload_ns())});
  const int count = step->workload_ns_size();
  if (count <= kMostLines) {
    title.Add("by micro-batch", Tone::kMean);
    title.Tab(kBarStart + BarWidth(style, kMicroBatchFigures) + 1);
    title.Add("     workload     tokens     original");
    for (int i = 0; i < count; ++i) {
      section.lines.push_back(MicroBatchLine(*step, i, heaviest, style));
    }
  } else {
    title.Add(absl::StrCat(count, " micro-batches, the slowest ",
                           Milliseconds(Slowest(step->workload_ns()))));
    section.lines.push_back(ColumnsLine("       workload", step->workload_ns(),
                                        heaviest, Tone::kMean, style));
    if (!step->original_workload_ns().empty()) {
      section.lines.push_back(ColumnsLine("       original",
                                          step->original_workload_ns(), heaviest,
                                          Tone::kOriginal, style));
    }
  }
  section.title = title.Take();
  return section;
}

}  // namespace evenpack
