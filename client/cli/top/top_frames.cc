#include "client/cli/top/top_frames.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/text_table.h"
#include "client/cli/top/frame_sections.h"
#include "client/cli/top/step_bars.h"
#include "evenpack/v1/job.pb.h"
#include "evenpack/v1/observation.pb.h"
#include "evenpack/v1/packing_service.pb.h"

namespace evenpack {
namespace {

constexpr size_t kBar = 16;

std::string TitleOf(const char* name, std::string_view about, const FrameStyle& style) {
  FrameLine line(style);
  line.Add(name, Tone::kTitle).Tab(kBar).Add(about);
  return line.Take();
}

std::string StateLine(const v1::ObserveJobResponse& observed, const FrameStyle& style) {
  const v1::Job& job = observed.job();
  FrameLine line(style);
  line.Add(job.name(), Tone::kTitle);
  line.Add(absl::StrFormat(
      "  epoch %d, %s steps decided, %s durable, %s kept%s", job.epoch(),
      Grouped(job.next_step()), Grouped(job.durable_steps()),
      Grouped(job.next_step() - job.oldest_step()), job.drained() ? ", drained" : ""));
  return line.Take();
}

std::string ImbalanceLine(const v1::ObservedTotals& totals, const FrameStyle& style) {
  FrameLine line(style);
  line.Add("imbalance").Tab(kBar);
  if (totals.full_steps() == 0) {
    return line.Add("no full step since the server started").Take();
  }
  line.Add(absl::StrFormat("%.3f", totals.weighted_imbalance()), Tone::kMean);
  line.Add(absl::StrFormat(" over %s full steps; ", Grouped(totals.full_steps())));
  line.Add(absl::StrFormat("original %.3f", totals.original_weighted_imbalance()),
           Tone::kOriginal);
  line.Add(absl::StrFormat(" over %s", Grouped(totals.original_full_steps())));
  return line.Take();
}

std::string TokensLine(const v1::ObservedTotals& totals, const FrameStyle& style) {
  FrameLine line(style);
  line.Add("tokens").Tab(kBar);
  // Of full steps.
  if (totals.full_steps() > 0) {
    line.Add(absl::StrFormat(
        "%s a step, CV %.3f; ",
        Grouped(static_cast<uint64_t>(std::llround(totals.mean_step_tokens()))),
        totals.step_tokens_cv()));
  }
  line.Add(absl::StrFormat("%s in %s documents", Grouped(totals.tokens()),
                           Grouped(totals.documents())));
  return line.Take();
}

std::string TrainersLine(const v1::ObserveJobResponse& observed,
                         const FrameStyle& style) {
  const v1::ObservedTotals& totals = observed.totals();
  FrameLine line(style);
  line.Add("trainers").Tab(kBar);
  line.Add(absl::StrFormat("%d producers, %d subscribers", observed.producers(),
                           observed.job().subscribers()));
  if (totals.steps_taken() > 0) {
    line.Add(absl::StrFormat(
        "; waited %.1f ms a step over %s",
        1000 * totals.step_wait_seconds() / static_cast<double>(totals.steps_taken()),
        Grouped(totals.steps_taken())));
  }
  return line.Take();
}

FrameSection Queues(const v1::ObserveJobResponse& observed, const FrameStyle& style) {
  FrameSection section;
  section.title =
      TitleOf("waiting", "documents      tokens  oldest, in global batches", style);
  for (const v1::ObservedQueue& queue : observed.queues()) {
    FrameLine line(style);
    line.Add(absl::StrFormat("%8s tokens+", Grouped(queue.threshold()))).Tab(kBar);
    line.Add(absl::StrFormat("%9s%12s%8s", Grouped(queue.documents()),
                             Grouped(queue.tokens()), Grouped(queue.oldest_batches())));
    section.lines.push_back(line.Take());
  }
  if (observed.steps().empty()) return section;
  const v1::ObservedStep& last = *observed.steps().rbegin();
  FrameLine line(style);
  line.Add(absl::StrFormat("%15s", "in no queue")).Tab(kBar);
  line.Add(absl::StrFormat("%9s%12s", Grouped(last.left_over_documents()),
                           Grouped(last.left_over_tokens())));
  section.lines.push_back(line.Take());
  return section;
}

// "0", "1", "4 to 5", "over 256".
std::string DelayName(const v1::ObservedTotals& totals, int i) {
  const auto bound = [&totals](int at) {
    return static_cast<int64_t>(totals.delay_bounds(at));
  };
  if (i == totals.delay_bounds_size()) return absl::StrCat("over ", bound(i - 1));
  const int64_t least = i == 0 ? 0 : bound(i - 1) + 1;
  return least == bound(i) ? absl::StrCat(least)
                           : absl::StrCat(least, " to ", bound(i));
}

FrameSection Delays(const v1::ObservedTotals& totals, const FrameStyle& style) {
  FrameSection section;
  section.title =
      TitleOf("delay", "documents, by global batches after their own", style);
  const auto& counts = totals.delay_documents();
  if (counts.size() != totals.delay_bounds_size() + 1) return section;
  uint64_t most = 1;
  uint64_t all = 0;
  for (const uint64_t count : counts) {
    most = std::max(most, count);
    all += count;
  }
  const size_t width = style.columns > kBar + 24 ? style.columns - kBar - 24 : 0;
  for (int i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    FrameLine line(style);
    line.Add(absl::StrFormat("%15s", DelayName(totals, i))).Tab(kBar);
    const double share = static_cast<double>(counts[i]) / static_cast<double>(most);
    line.Fill(static_cast<size_t>(std::ceil(share * static_cast<double>(width))),
              Tone::kMean);
    line.Tab(kBar + width + 1)
        .Add(absl::StrFormat(
            "%13s %8.3f%%", Grouped(counts[i]),
            100 * static_cast<double>(counts[i]) / static_cast<double>(all)));
    section.lines.push_back(line.Take());
  }
  return section;
}

FrameSection Subscribers(const v1::ObserveJobResponse& observed,
                         const FrameStyle& style) {
  FrameSection section;
  section.title = TitleOf("subscribers", "   lag  received  credits  name", style);
  for (const v1::ObservedSubscriber& each : observed.subscribers()) {
    FrameLine line(style);
    line.Add(
        absl::StrCat("dp ", each.dp_rank(),
                     each.has_cp_rank() ? absl::StrCat(" cp ", each.cp_rank()) : ""));
    line.Tab(kBar).Add(absl::StrFormat("%6s", Grouped(each.lag_steps())),
                       each.lag_steps() > 0 ? Tone::kExcess : Tone::kPlain);
    line.Add(absl::StrFormat("%10s%9s  ", Grouped(each.received_steps()),
                             Grouped(each.unused_credits())));
    line.Add(each.subscriber());
    if (each.sends_durable())
      line.Add(each.subscriber().empty() ? "durable" : ", durable");
    section.lines.push_back(line.Take());
  }
  return section;
}

std::string JobLine(const v1::Job& job, size_t name_width, const FrameStyle& style) {
  FrameLine line(style);
  line.Add(std::string_view(job.name()).substr(0, name_width)).Tab(name_width + 1);
  line.Add(absl::StrFormat("%6d%11s%11s%10s%12s  %s", job.epoch(),
                           Grouped(job.next_step()), Grouped(job.durable_steps()),
                           Grouped(job.waiting_documents()), Grouped(job.subscribers()),
                           job.drained() ? "drained" : ""));
  return line.Take();
}

}  // namespace

std::vector<std::string> JobFrame(const v1::ObserveJobResponse& observed,
                                  const FrameStyle& style) {
  const v1::ObservedTotals& totals = observed.totals();
  return FitSections(
      {StateLine(observed, style), ImbalanceLine(totals, style),
       TokensLine(totals, style), TrainersLine(observed, style)},
      {StepBars(observed, style), MicroBatchBars(observed, style),
       Queues(observed, style), Delays(totals, style), Subscribers(observed, style)},
      style.rows);
}

std::vector<std::string> JobsFrame(const v1::ListJobsResponse& jobs,
                                   const FrameStyle& style) {
  if (jobs.jobs().empty() && jobs.broken_jobs().empty()) return {"no job"};
  size_t width = 4;
  for (const v1::Job& job : jobs.jobs()) width = std::max(width, job.name().size());
  // Names may be 128 long; the figures have room first.
  constexpr size_t kFigures = 60;
  width = std::min(width, style.columns > kFigures + 4 ? style.columns - kFigures : 4);
  FrameLine title(style);
  title.Add("job", Tone::kTitle).Tab(width + 1);
  title.Add(" epoch      steps    durable   waiting subscribers", Tone::kTitle);
  std::vector<std::string> lines = {title.Take()};
  for (const v1::Job& job : jobs.jobs()) lines.push_back(JobLine(job, width, style));
  for (const v1::BrokenJob& job : jobs.broken_jobs()) {
    FrameLine line(style);
    line.Add(std::string_view(job.name()).substr(0, width)).Tab(width + 1);
    line.Add(" ").Add(job.error(), Tone::kExcess);
    lines.push_back(line.Take());
  }
  if (lines.size() <= style.rows) return lines;
  const size_t left_out = lines.size() - style.rows + 1;
  lines.resize(style.rows > 0 ? style.rows - 1 : 0);
  FrameLine line(style);
  lines.push_back(line.Add(absl::StrCat("and ", left_out, " more")).Take());
  return lines;
}

}  // namespace evenpack
