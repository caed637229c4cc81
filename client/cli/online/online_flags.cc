#include "client/cli/online/online_flags.h"

#include <initializer_list>
#include <utility>

#include "client/cli/online/spec_flag_table.h"
#include "client/cli/shared_flags.h"
#include "client/cpp/security_flags.h"

namespace evenpack {
namespace {

using enum FlagKind;
using Flags = std::vector<FlagDefinition>;

constexpr FlagDefinition kName = {"NAME", kArgument, "", "the job's name"};
constexpr FlagDefinition kJob = {"--job", kValue, "NAME", "the job"};
constexpr FlagDefinition kDpRank = {"--dp-rank", kValue, "R", "data-parallel rank"};
constexpr FlagDefinition kCpRank = {
    "--cp-rank", kValue, "R", "context-parallel rank whose slices are wanted (none)"};
constexpr FlagDefinition kSpec = {
    "--spec", kValue, "FILE",
    "evenpack.v1.JobSpec as JSON, YAML or textproto, by name or content; - reads "
    "stdin; flags change what they name in it"};
constexpr FlagDefinition kExpectedEpoch = {
    "--expected-epoch", kValue, "E",
    "refuse where the job's epoch is another (the one that was read)"};
constexpr FlagDefinition kServer = {
    "--server", kValue, "HOST:PORT[,HOST:PORT...]",
    "the server, or any of those that share its jobs ($EVENPACK_SERVER, else "
    "127.0.0.1:7654)",
    "Server"};
constexpr FlagDefinition kTimeout = {
    "--timeout", kValue, "SECONDS",
    "how long to keep trying where the server can't be reached (30)", "Server"};

Flags Joined(std::initializer_list<Flags> parts) {
  Flags flags;
  for (const Flags& part : parts) flags.insert(flags.end(), part.begin(), part.end());
  return flags;
}

Flags SecurityFlags() {
  Flags flags;
  for (const client::SecurityFlag& flag : client::SecurityFlags()) {
    flags.push_back({flag.name, flag.value == nullptr ? kSwitch : kValue,
                     flag.placeholder, flag.help, client::kSecurityGroup});
  }
  return flags;
}

Flags ServerFlags() {
  return Joined({{kServer, kTimeout, kJsonFlag}, SecurityFlags()});
}

std::vector<CommandDefinition> JobsCommands() {
  return {
      {"jobs create", "Create a job, from flags or from a file",
       Joined({{kName, kSpec},
               StreamFlagDefinitions(),
               SpecFlagDefinitions(),
               ServerFlags()})},
      {"jobs list", "List the server's jobs", ServerFlags()},
      {"jobs describe", "Show a job: streams, steps, what waits, its spec",
       Joined({{kName}, ServerFlags()})},
      {"jobs update",
       "Reconfigure a job from a step on; flags change what they name in its spec",
       Joined({{kName,
                kSpec,
                {"--from-step", kValue, "K",
                 "first step of the new shape; decided ones from there are withdrawn "
                 "(the next to be decided)"},
                kExpectedEpoch},
               SpecFlagDefinitions(),
               ServerFlags()})},
      {"jobs delete", "Delete a job", Joined({{kName}, ServerFlags()})},
  };
}

std::vector<CommandDefinition> ProfilesCommands() {
  constexpr FlagDefinition kProfile = {"NAME", kArgument, "", "the profile's name"};
  return {
      {"profiles put",
       "Give the server a cost profile, in place of the one of its name",
       Joined({{{"FILE", kArgument, "",
                 "evenpack.v1.CostProfile as JSON, YAML or textproto, as "
                 "evenpack-worker --profile --output writes it; - reads stdin"},
                {"--name", kValue, "NAME", "the profile's name (that of the file)"}},
               ServerFlags()})},
      {"profiles list", "List the server's cost profiles", ServerFlags()},
      {"profiles describe", "Show a cost profile: what was measured, and its tables",
       Joined({{kProfile}, ServerFlags()})},
      {"profiles delete", "Delete a cost profile; jobs that name it go on",
       Joined({{kProfile}, ServerFlags()})},
  };
}

CommandDefinition CheckpointDefinition() {
  return {"checkpoint", "Write a job as it was after a step into a file",
          Joined({{kName,
                   {"--step", kValue, "K", "the checkpoint's last step"},
                   {"--output", kValue, "FILE", "the file to write"}},
                  ServerFlags()})};
}

CommandDefinition RestoreDefinition() {
  return {"restore", "Make a new job that goes on from a checkpoint",
          Joined({{kName, {"--checkpoint", kValue, "FILE", "what `checkpoint` wrote"}},
                  ServerFlags()})};
}

std::vector<CommandDefinition> RewindCommands() {
  return {
      {"rewind",
       "Take a job back to an earlier step; flags change what they name in its spec",
       Joined(
           {{kName,
             {"--from-step", kValue, "K",
              "the first step that is formed anew: one more than the last step of "
              "the trainer's checkpoint"},
             {"--checkpoint", kValue, "FILE", "or back to what `checkpoint` wrote"},
             {"--skip", kValue, "S:FIRST:COUNT",
              "pass COUNT documents of stream S over, from sequence number FIRST on; "
              "several with commas between them (none)"},
             kSpec,
             kExpectedEpoch},
            SpecFlagDefinitions(),
            ServerFlags()})},
      {"fork", "Make a new job that was, up to a step, another one",
       Joined({{kName,
                {"--as", kValue, "NEW", "the new job's name"},
                {"--step", kValue, "K", "the last step that the two have in common"}},
               ServerFlags()})},
      {"skip", "Pass documents over: no further step of the job has them",
       Joined({{kName,
                {"--documents", kValue, "S:FIRST:COUNT",
                 "COUNT documents of stream S from sequence number FIRST on; several "
                 "with commas between them"},
                {"--from-step", kValue, "K",
                 "first step without them; decided ones from there are withdrawn (the "
                 "next to be decided)"},
                kExpectedEpoch},
               ServerFlags()})},
  };
}

CommandDefinition IngestDefinition() {
  return {
      "ingest", "Send documents into a stream of a job, each exactly once",
      Joined(
          {{kJob,
            {"--stream", kValue, "S", "the stream (default)"},
            kLengthsFlag,
            kIndexFlag,
            {"--jsonl", kValue, "FILE",
             "documents as JSON objects, one a line; - reads stdin"},
            {"--length-field", kValue, "F",
             "--jsonl: the field with the length in tokens (length, where a line "
             "has it)"},
            {"--text-field", kValue, "F",
             "--jsonl: the field with a text, whose tokens are counted (text, where a "
             "line has no length)"},
            {"--tokens-field", kValue, "F",
             "--jsonl: the field with a list of token ids (tokens, where a line has "
             "neither)"},
            {"--id-field", kValue, "F",
             "--jsonl: the field with the label, a whole number (id, where it is "
             "one)"},
            {"--loss-tokens-field", kValue, "F",
             "--jsonl: the field with the tokens that count in the loss (none: all)"},
            {"--source-field", kValue, "F",
             "--jsonl: the field with the number of the source (none: 0)"},
            {"--tokenizer", kValue, "T",
             "--jsonl: what counts a text's tokens: bytes (of UTF-8), "
             "tokenizers:FILE.json or tiktoken:ENCODING; the last two need Python with "
             "the package evenpack and that library (bytes)"},
            {"--end-of-document", kValue, "TOKEN",
             "--tokenizer: id or name of a token behind each text (none)"},
            {"--python", kValue, "PROGRAM",
             "--tokenizer: the interpreter of Python (python3)"},
            {"--from-sequence", kValue, "N",
             "sequence number of the first line's document (0)"},
            {"--end-of-stream", kSwitch, "", "end the stream after the last line"},
            {"--batch", kValue, "N", "most documents of a message (1024)"},
            kRepeatFlag,
            kSeedFlag},
           ServerFlags()})};
}

CommandDefinition FollowDefinition() {
  return {
      "follow", "Receive the steps of a rank, to the last of a drained job",
      Joined({{kJob,
               kDpRank,
               kCpRank,
               {"--from-step", kValue, "K",
                "the first step (the first that is not durable on this DP rank)"},
               {"--steps", kValue, "N", "end after N steps (no bound)"},
               {"--ack", kValue, "durable|received|none",
                "what to tell the server of each step that was written (received)"},
               {"--subscriber", kValue, "NAME",
                "a newer subscription of the same rank and name takes the claim of an "
                "older one (evenpackctl, host and process)"}},
              ServerFlags()})};
}

CommandDefinition StepDefinition() {
  return {"step", "Show one step as a rank receives it",
          Joined({{kJob, {"--step", kValue, "K", "the step"}, kDpRank, kCpRank},
                  ServerFlags()})};
}

CommandDefinition LatencyDefinition() {
  return {"latency",
          "Show what ranks measured of the last steps, and why those took so long",
          Joined({{kJob,
                   {"--steps", kValue, "N", "the last steps, at most 64 (8)"},
                   {"--ranks", kValue, "N",
                    "ranks of each, the latest first, at most 1024 (16)"},
                   {"--apply", kSwitch, "",
                    "update the job with the scales that are suggested for its costs"}},
                  ServerFlags()})};
}

CommandDefinition TopDefinition() {
  return {"top",
          "Show the server's jobs, or one of them, as they are: until Ctrl-C on a "
          "terminal or with --json, else once",
          Joined({{{"--job", kValue, "NAME", "one job, with its last steps (all jobs)"},
                   {"--interval", kValue, "SECONDS", "how often to look (1)"},
                   {"--once", kSwitch, "", "look once"}},
                  ServerFlags()})};
}

}  // namespace

std::vector<CommandDefinition> OnlineCommands() {
  std::vector<CommandDefinition> commands = JobsCommands();
  for (CommandDefinition& each : ProfilesCommands()) {
    commands.push_back(std::move(each));
  }
  commands.push_back(CheckpointDefinition());
  commands.push_back(RestoreDefinition());
  for (CommandDefinition& each : RewindCommands()) commands.push_back(std::move(each));
  commands.push_back(IngestDefinition());
  commands.push_back(FollowDefinition());
  commands.push_back(StepDefinition());
  commands.push_back(LatencyDefinition());
  commands.push_back(TopDefinition());
  return commands;
}

}  // namespace evenpack
