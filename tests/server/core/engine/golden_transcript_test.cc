// Runs the commands of each transcript in tests/golden/engine and compares what the
// engine says with what the transcript says it says. To write the answers anew after a
// decided change: EVENPACK_REWRITE_GOLDEN=1 golden_transcript_test, then read the diff.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
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

std::vector<uint32_t> Numbers(const std::string& text) {
  std::vector<uint32_t> numbers;
  if (text.empty()) return numbers;
  for (const auto word : absl::StrSplit(text, ',')) {
    numbers.push_back(static_cast<uint32_t>(std::stoul(std::string(word))));
  }
  return numbers;
}

JobSpec SpecOf(std::map<std::string, std::string> arguments, JobSpec spec) {
  for (const auto& [key, value] : arguments) {
    const auto number = static_cast<uint32_t>(std::strtoul(value.c_str(), nullptr, 10));
    if (key == "policy") {
      spec.policy.kind = value == "original"       ? PolicyKind::kOriginal
                         : value == "fixed_greedy" ? PolicyKind::kFixedGreedy
                                                   : PolicyKind::kWlb;
    }
    if (key == "streams") {
      spec.streams.clear();
      for (const auto name : absl::StrSplit(value, ',')) {
        spec.streams.push_back({std::string(name), 1});
      }
    }
    if (key == "merge" && value == "arrival") spec.merge = MergeMode::kArrival;
    if (key == "micro_batches") spec.micro_batches = number;
    if (key == "window") spec.window = number;
    if (key == "max_length") spec.max_length = number;
    if (key == "window_batches") spec.policy.window_batches = number;
    if (key == "thresholds") spec.policy.queue_thresholds = Numbers(value);
    if (key == "split_documents") spec.policy.split_documents = value == "true";
    if (key == "split_overlong") spec.split_overlong = value == "true";
    if (key == "max_delay") spec.max_delay = number;
    if (key == "backlog_limit") spec.backlog_limit = number;
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

std::string DescribeStep(const TestJob& job) {
  const Step& step = job.emitted().back().step;
  std::string text = absl::StrCat("step ", step.index, " epoch ", step.epoch, " ",
                                  std::string(StepKindName(step.kind)), "\n");
  for (const MicroBatch& micro_batch : step.micro_batches) {
    absl::StrAppend(&text, "  ", Describe(micro_batch.documents), " tokens ",
                    micro_batch.tokens, " ns ", micro_batch.workload_ns, "\n");
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
  const std::string stream = arguments.count("stream") > 0 ? arguments["stream"] : "a";
  if (words[0] == "ingest" && arguments.count("from") == 0) {
    status = job->Ingest(Numbers(arguments["lengths"]), stream);
  } else if (words[0] == "ingest") {
    Ingest command;
    command.stream = stream;
    command.first_sequence = std::stoull(arguments["from"]);
    command.lengths = Numbers(arguments["lengths"]);
    status = job->Do(command);
  } else if (words[0] == "end") {
    status = job->End(stream);
  } else if (words[0] == "update") {
    const uint64_t from_step = std::stoull(arguments["from_step"]);
    status = job->Do(UpdateJob{from_step, SpecOf(arguments, job->state().spec)});
  } else if (words[0] == "acknowledge") {
    status = job->Do(Acknowledge{0, std::stoull(arguments["step"])});
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
  const std::filesystem::path folder =
      std::filesystem::path(EVENPACK_SOURCE_DIR) / "tests/golden/engine";
  size_t transcripts = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path());
    std::stringstream content;
    content << file.rdbuf();
    const std::string answered = Answer(content.str());
    if (std::getenv("EVENPACK_REWRITE_GOLDEN") != nullptr) {
      std::ofstream(entry.path()) << answered;
    } else {
      EXPECT_EQ(answered, content.str()) << entry.path();
    }
    ++transcripts;
  }
  EXPECT_GE(transcripts, 5U);
}

}  // namespace
}  // namespace evenpack
