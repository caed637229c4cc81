#include "client/cli/online/job_report.h"

#include <google/protobuf/text_format.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/cli/json_text.h"
#include "client/cli/online/message_json.h"
#include "client/cli/online/report_line.h"
#include "client/cli/text_table.h"
#include "evenpack/v1/job.pb.h"
#include "evenpack/v1/packing_service.pb.h"
#include "server/runtime/one_line.h"

namespace evenpack {
namespace {

const char* StateOf(const v1::Job& job) { return job.drained() ? "drained" : "open"; }

std::string StateOf(const v1::StreamStatus& stream) {
  uint64_t skipped = 0;
  for (const v1::SequenceRange& range : stream.skipped()) skipped += range.documents();
  return absl::StrCat(stream.ended() ? "ended" : "",
                      stream.ended() && skipped > 0 ? ", " : "",
                      skipped > 0 ? absl::StrCat(Grouped(skipped), " skipped") : "");
}

std::string ShapeText(const v1::JobSpec& spec) {
  const v1::Parallelism& parallelism = spec.parallelism();
  return absl::StrFormat(
      "DP %d x %d micro-batches of %s tokens, at most %s; CP %d, TP %d, PP %d, EP %d",
      parallelism.data(), parallelism.micro_batches_per_rank(), Grouped(spec.window()),
      Grouped(spec.max_length()), parallelism.context(), parallelism.tensor(),
      parallelism.pipeline(), parallelism.expert());
}

std::string StepsText(const v1::Job& job) {
  return absl::StrFormat("%s decided, %s durable (by DP rank: %s), kept from %s on",
                         Grouped(job.next_step()), Grouped(job.durable_steps()),
                         absl::StrJoin(job.durable_steps_per_rank(), " "),
                         Grouped(job.oldest_step()));
}

std::string StreamsText(const v1::Job& job) {
  TextTable table({{"stream", kLeft},
                   {"weight"},
                   {"next sequence"},
                   {"buffered documents"},
                   {"buffered tokens"},
                   {"", kLeft}});
  for (int i = 0; i < job.streams_size(); ++i) {
    const v1::StreamStatus& stream = job.streams(i);
    const uint32_t weight =
        i < job.spec().streams_size() ? job.spec().streams(i).weight() : 0;
    table.AddRow({OnOneLine(stream.name()), absl::StrCat(weight),
                  Grouped(stream.next_sequence()), Grouped(stream.buffered_documents()),
                  Grouped(stream.buffered_tokens()), StateOf(stream)});
  }
  return table.ToString();
}

std::string SpecText(const v1::JobSpec& spec) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetUseUtf8StringEscaping(true);
  printer.SetUseShortRepeatedPrimitives(true);
  std::string text;
  printer.PrintToString(spec, &text);
  std::string lines;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    absl::StrAppend(&lines, OnOneLine({line.data(), line.size()}), "\n");
  }
  return lines;
}

// Where jobs are that the server which was asked doesn't lead, by name.
using Places = std::map<std::string, std::string>;

Places PlacesOf(const v1::ListJobsResponse& listed) {
  Places places;
  for (const v1::JobPlace& place : listed.led_elsewhere()) {
    places.emplace(place.name(), place.address());
  }
  return places;
}

template <typename Message>
Json WithAddress(const Message& message, const Places& places) {
  Json json = MessageJson(message);
  const auto place = places.find(message.name());
  if (place != places.end()) json["address"] = place->second;
  return json;
}

}  // namespace

std::string JobText(const v1::Job& job) {
  return absl::StrCat(
      ReportLine("job",
                 absl::StrCat(job.name(), ", ", StateOf(job), ", epoch ", job.epoch())),
      ReportLine("shape", ShapeText(job.spec())), ReportLine("steps", StepsText(job)),
      ReportLine("digest", absl::BytesToHexString(job.digest())),
      ReportLine("waiting", absl::StrCat(Grouped(job.waiting_documents()),
                                         " documents, ", Grouped(job.waiting_tokens()),
                                         " tokens admitted and in no step")),
      ReportLine("readers", absl::StrCat(job.subscribers(), " subscriptions")),
      ReportLine("policy", absl::StrCat("rules of version ", job.policy_version())),
      "\n", StreamsText(job), "\nspec\n", SpecText(job.spec()));
}

std::string JobJson(const v1::Job& job) { return JsonText(MessageJson(job)); }

std::string JobReport(const v1::Job& job, bool as_json) {
  return as_json ? JobJson(job) : JobText(job);
}

std::string JobsText(const v1::ListJobsResponse& listed) {
  const Places places = PlacesOf(listed);
  TextTable table({{"job", kLeft},
                   {"state", kLeft},
                   {"epoch"},
                   {"decided"},
                   {"durable"},
                   {"streams"},
                   {"waiting documents"},
                   {"subscriptions"},
                   {places.empty() ? "" : "led elsewhere", kLeft}});
  for (const v1::Job& job : listed.jobs()) {
    table.AddRow({job.name(), StateOf(job), absl::StrCat(job.epoch()),
                  Grouped(job.next_step()), Grouped(job.durable_steps()),
                  absl::StrCat(job.spec().streams_size()),
                  Grouped(job.waiting_documents()), Grouped(job.subscribers()),
                  places.contains(job.name()) ? places.at(job.name()) : ""});
  }
  std::string text = table.ToString();
  for (const v1::BrokenJob& job : listed.broken_jobs()) {
    const bool is_elsewhere = places.contains(job.name());
    absl::StrAppend(&text, job.name(),
                    is_elsewhere ? " can't be shown: " : " is broken: ", job.error(),
                    "\n");
  }
  return text;
}

std::string JobsJson(const v1::ListJobsResponse& listed) {
  const Places places = PlacesOf(listed);
  Json jobs = Json::array();
  for (const v1::Job& job : listed.jobs()) jobs.push_back(WithAddress(job, places));
  Json broken = Json::array();
  for (const v1::BrokenJob& job : listed.broken_jobs()) {
    broken.push_back(WithAddress(job, places));
  }
  return JsonText({{"jobs", std::move(jobs)}, {"broken_jobs", std::move(broken)}});
}

}  // namespace evenpack
