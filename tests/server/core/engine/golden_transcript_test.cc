// Runs the commands of each transcript in tests/golden/engine and compares what the
// engine says with what the transcript says it says. To write the answers anew after a
// decided change: EVENPACK_REWRITE_GOLDEN=1 golden_transcript_test, then read the diff.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "server/core/engine/plan_micro_batch.h"
#include "server/core/sharding/plan_digest.h"
#include "server/core/sharding/rank_load.h"
#include "tests/testing/file_bytes.h"
#include "tests/testing/source_file.h"
#include "tests/testing/test_job.h"

namespace evenpack {
namespace {

using testing::TestJob;

// "key=value" words behind a command's name.
std::map<std::string, std::string> Arguments(const std::vector<std::string>& words) {
  std::map<std::string, std::string> arguments;
  for (size_t i = 1; i < words.size(); ++i) {
    const std::vector<std::string> pair = absl::StrSplit(words[i], '=');
    arguments[pair.at(0)] = pair.at(1);
  }
  return arguments;
}

uint32_t Number(const std::string& text) {
  uint32_t number = 0;
  EXPECT_TRUE(absl::SimpleAtoi(text, &number)) << text;
  return number;
}

std::vector<uint32_t> Numbers(const std::string& text) {
  std::vector<uint32_t> numbers;
  for (const auto word : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    numbers.push_back(Number(std::string(word)));
  }
  return numbers;
}

PolicyKind PolicyOf(const std::string& name) {
  static const std::map<std::string, PolicyKind> kinds = {
      {"original", PolicyKind::kOriginal},
      {"fixed_greedy", PolicyKind::kFixedGreedy},
      {"wlb", PolicyKind::kWlb},
      {"balanced", PolicyKind::kBalanced}};
  return kinds.at(name);
}

Layout LayoutOf(const std::string& name) {
  uint8_t number = 0;
  while (LayoutName(static_cast<Layout>(number)) != name) ++number;
  return static_cast<Layout>(number);
}

void SetStreams(const std::string& names, JobSpec& spec) {
  spec.streams.clear();
  for (const auto name : absl::StrSplit(names, ',')) {
    spec.streams.push_back({std::string(name), 1});
  }
}

using Setter = std::function<void(const std::string&, JobSpec&)>;

const std::map<std::string, Setter>& Setters() {
  static const std::map<std::string, Setter> setters = {
      {"policy", [](const auto& v, JobSpec& s) { s.policy.kind = PolicyOf(v); }},
      {"streams", SetStreams},
      {"merge",
       [](const auto& v, JobSpec& s) {
         EXPECT_EQ(v, "arrival");
         s.merge = MergeMode::kArrival;
       }},
      {"micro_batches", [](const auto& v, JobSpec& s) { s.micro_batches = Number(v); }},
      {"window", [](const auto& v, JobSpec& s) { s.window = Number(v); }},
      {"max_length", [](const auto& v, JobSpec& s) { s.max_length = Number(v); }},
      {"window_batches",
       [](const auto& v, JobSpec& s) { s.policy.window_batches = Number(v); }},
      {"release",
       [](const auto& v, JobSpec& s) {
         EXPECT_EQ(v, "by_class");
         s.policy.balanced.release = ReleaseMode::kByClass;
       }},
      {"token_spread_ppm",
       [](const auto& v, JobSpec& s) {
         s.policy.balanced.token_spread_ppm = Number(v);
       }},
      {"thresholds",
       [](const auto& v, JobSpec& s) { s.policy.queue_thresholds = Numbers(v); }},
      {"split_documents",
       [](const auto& v, JobSpec& s) { s.policy.split_documents = v == "true"; }},
      {"split_overlong",
       [](const auto& v, JobSpec& s) { s.split_overlong = v == "true"; }},
      {"max_delay", [](const auto& v, JobSpec& s) { s.max_delay = Number(v); }},
      {"backlog_limit", [](const auto& v, JobSpec& s) { s.backlog_limit = Number(v); }},
      {"context_parallel",
       [](const auto& v, JobSpec& s) { s.context_parallel = Number(v); }},
      {"tensor_parallel",
       [](const auto& v, JobSpec& s) { s.tensor_parallel = Number(v); }},
      {"layout", [](const auto& v, JobSpec& s) { s.layout.kind = LayoutOf(v); }},
      {"sequence_parallel",
       [](const auto& v, JobSpec& s) { s.layout.sequence_parallel = v == "true"; }},
      {"max_documents",
       [](const auto& v, JobSpec& s) { s.layout.max_documents = Number(v); }},
      {"pad_tokens_to",
       [](const auto& v, JobSpec& s) { s.layout.pad_tokens_to = Number(v); }},
      {"shape_ladder",
       [](const auto& v, JobSpec& s) { s.layout.shape_ladder = Numbers(v); }},
  };
  return setters;
}

JobSpec SpecOf(const std::map<std::string, std::string>& arguments, JobSpec spec) {
  for (const auto& [key, value] : arguments) {
    if (key != "from_step") Setters().at(key)(value, spec);
  }
  testing::ResolveCosts(spec);
  return spec;
}

std::string Describe(const Document& document) {
  std::string text = absl::StrCat(document.sequence, ":", document.length);
  if (document.stream != 0) text = absl::StrCat("s", document.stream, "/", text);
  if (document.length != document.document_length) {
    absl::StrAppend(&text, "@", document.offset);
  }
  return text;
}

std::string Describe(std::span<const Document> documents) {
  std::vector<std::string> texts;
  for (const Document& document : documents) texts.push_back(Describe(document));
  return absl::StrCat("[", absl::StrJoin(texts, " "), "]");
}

// What padding there is, and how the ranks hold it: tokens + padding of each.
std::string DescribePadding(const JobSpec& spec, const MicroBatch& micro_batch) {
  if (micro_batch.padding == 0) return "";
  const absl::StatusOr<ShardPlan> plan = PlanMicroBatch(spec, micro_batch);
  if (!plan.ok()) return plan.status().ToString();
  std::string text = absl::StrCat("    padding ", micro_batch.padding, " ranks");
  for (const RankLoad& load : RankLoads(*plan)) {
    absl::StrAppend(&text, " ", load.tokens, "+", load.padding);
  }
  return absl::StrCat(text, " plan ", ToHex(PlanDigest(*plan)), "\n");
}

std::string DescribeStep(const TestJob& job) {
  const Step& step = job.emitted().back().step;
  std::string text = absl::StrCat("step ", step.index, " epoch ", step.epoch, " ",
                                  std::string(StepKindName(step.kind)), "\n");
  for (const MicroBatch& micro_batch : step.micro_batches) {
    absl::StrAppend(&text, "  ", Describe(micro_batch.documents), " tokens ",
                    micro_batch.tokens, " ns ", micro_batch.workload_ns, "\n",
                    DescribePadding(job.state().spec, micro_batch));
  }
  const Waiting& waiting = job.state().waiting;
  absl::StrAppend(&text, "  left over ", Describe(waiting.left_over));
  for (const DocumentFifo& queue : waiting.queues) {
    absl::StrAppend(&text, " queue ", Describe(queue.view()));
  }
  return absl::StrCat(text, "\n  digest ", ToHex(step.digest), "\n");
}

std::string Run(const std::string& line, std::unique_ptr<TestJob>& job) {
  const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
  std::map<std::string, std::string> arguments = Arguments(words);
  if (words[0] == "create") {
    JobSpec base = testing::MakeSpec(PolicyKind::kWlb, 1, 100);
    job = std::make_unique<TestJob>(SpecOf(arguments, base));
    return "ok\n";
  }
  absl::Status status;
  if (job == nullptr) return "a transcript starts with create\n";
  const std::string stream = arguments.count("stream") > 0 ? arguments["stream"] : "a";
  if (words[0] == "ingest" && arguments.count("from") == 0) {
    status = job->Ingest(Numbers(arguments["lengths"]), stream);
  } else if (words[0] == "ingest") {
    Ingest command;
    command.stream = stream;
    command.first_sequence = Number(arguments["from"]);
    command.lengths = Numbers(arguments["lengths"]);
    status = job->Do(command);
  } else if (words[0] == "end") {
    status = job->End(stream);
  } else if (words[0] == "update") {
    const uint64_t from_step = Number(arguments["from_step"]);
    status = job->Do(UpdateJob{from_step, SpecOf(arguments, job->state().spec)});
  } else if (words[0] == "acknowledge") {
    status = job->Do(Acknowledge{0, Number(arguments["step"])});
  } else if (words[0] == "form") {
    status = job->Do(FormStep{});
    if (status.ok()) return DescribeStep(*job);
  } else {
    return absl::StrCat("not a command of transcripts: ", words[0], "\n");
  }
  return status.ok()
             ? "ok\n"
             : absl::StrCat(std::string(absl::StatusCodeToString(status.code())), ": ",
                            status.message(), "\n");
}

// A transcript is commands, each behind "> ", with the answer below; "#" comments stay.
std::string Answer(const std::string& transcript) {
  std::unique_ptr<TestJob> job;
  std::string answered;
  std::istringstream lines(transcript);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#") || line.empty()) {
      absl::StrAppend(&answered, line, "\n");
    } else if (line.starts_with("> ")) {
      absl::StrAppend(&answered, line, "\n", Run(line.substr(2), job));
    }
  }
  return answered;
}

TEST(GoldenTranscriptTest, TheEngineAnswersAsWritten) {
  const std::string folder = testing::SourceFile("tests/golden/engine");
  size_t transcripts = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string content = testing::FileBytes(entry.path());
    const std::string answered = Answer(content);
    if (std::getenv("EVENPACK_REWRITE_GOLDEN") != nullptr) {
      std::ofstream(entry.path()) << answered;
    } else {
      EXPECT_EQ(answered, content) << entry.path();
    }
    ++transcripts;
  }
  EXPECT_GE(transcripts, 5U);
}

}  // namespace
}  // namespace evenpack
