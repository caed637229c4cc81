#include <array>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/client/cli/index_bytes.h"
#include "tests/fuzz/seeds.h"

namespace evenpack::fuzz {
namespace {

void AddLengths(const std::vector<uint32_t>& lengths, std::vector<Seed>& seeds) {
  std::string lines;
  for (size_t i = 0; i < 20; ++i) absl::StrAppend(&lines, lengths[i], "\n");
  seeds.push_back({"lengths", "given", lines});
  seeds.push_back({"lengths", "blanks", " 12\t\r\n007 \n2147483647\n\n \n"});
  seeds.push_back({"lengths", "gap", "1\n\n2\n"});
  seeds.push_back({"lengths", "too_long", "2147483648"});
}

// The first byte and 15 is one less than the arrivals that are asked for.
void AddArrivals(std::vector<Seed>& seeds) {
  seeds.push_back({"arrivals", "given", "20\n0.5\n1.25\n"});
  seeds.push_back({"arrivals", "blanks", "3 0\t\r\n000.000000001 \n7\n8640000.0\n\n"});
  seeds.push_back({"arrivals", "falling", "12\n1\n"});
  seeds.push_back({"arrivals", "too_late", "08640000.1"});
}

void AddIndexes(const std::vector<uint32_t>& lengths, std::vector<Seed>& seeds) {
  std::vector<std::vector<int32_t>> documents(4);
  for (size_t i = 0; i < 6; ++i) {
    documents[i % 3].push_back(static_cast<int32_t>(lengths[i]));
  }
  testing::IndexContent content = testing::IndexContent::Of(documents);
  seeds.push_back({"index", "given", content.Bytes()});
  content.has_modes = true;
  seeds.push_back({"index", "modes", content.Bytes()});
  content.sequences[1] = -1;
  seeds.push_back({"index", "negative", content.Bytes()});
  seeds.push_back({"index", "none", testing::IndexContent::Of({}).Bytes()});
}

void AddJsonl(const std::vector<uint32_t>& lengths, std::vector<Seed>& seeds) {
  std::string lines;
  for (size_t i = 0; i < 6; ++i) {
    absl::StrAppend(&lines, R"({"id": )", i, R"(, "length": )", lengths[i],
                    R"(, "loss": )", lengths[i] / 2, R"(, "source": )", i % 3, "}\n");
  }
  // The first byte chooses which fields are named.
  for (const char choice : {'\0', '\1', '\5', '\x1d'}) {
    seeds.push_back({"jsonl", absl::StrCat("given", int{choice}), choice + lines});
  }
  seeds.push_back({"jsonl", "text", "\2{\"text\": \"a \\u00e9 \xc3\xa9\"}\n\n"});
  seeds.push_back(
      {"jsonl", "nested",
       std::string(1, '\0') + R"({"x": [{"y": null}, -1.5e3], "text": "b"})"});
}

void AddConfig(std::vector<Seed>& seeds) {
  seeds.push_back({"config", "file",
                   "listen: 0.0.0.0:7654\nhttp-listen: \"\"\nstore: sqlite:/tmp/x\n"
                   "max-jobs: 10\nmax-message-bytes: 1048576\nlog-level: debug\n"
                   "# a comment\nlog-format: json\nchannelz: 'off'\n"});
  seeds.push_back({"config", "limits",
                   "max-step-streams: 5\nmax-ingest-streams: 6\n"
                   "max-group-streams: 7\nstep-cache-bytes: 0\n"
                   "keepalive-seconds: 60\nkeepalive-timeout-seconds: 5\n"
                   "min-ping-seconds: 0\nmax-connection-age-seconds: 3600\n"
                   "connection-age-grace-seconds: 1\ndrain-seconds: 0\n"
                   "wake-threads: 2\nmax-metric-jobs: 3\n"});
  seeds.push_back({"config", "list", "listen: [a, b]\n"});
  seeds.push_back({"config", "alias", "store: &x memory\nlisten: *x\n"});
  seeds.push_back({"config", "flags",
                   "--listen=[::1]:0\n--store\nmemory\n--max-jobs=7\n--channelz=on\n"
                   "--log-level=error\n--http-listen="});
  seeds.push_back({"config", "help", "--help"});
}

void AddRoles(std::vector<Seed>& seeds) {
  const std::string hash(64, 'a');
  seeds.push_back({"roles", "blocks",
                   "grants:\n- role: operator\n  jobs: ['*']\n  subjects:\n"
                   "  - CN=ops,O=a\\, b\n  - spiffe://c/d\n  - dns:e.F\n"
                   "- role: producer\n  jobs: [a-?, b]\n  tokens: ['f:" +
                       hash + "']\n"});
  seeds.push_back({"roles", "flow",
                   "grants: [{role: consumer, jobs: [a], tokens: [x:" + hash +
                       ", x:" + std::string(64, '0') + "]}]"});
  seeds.push_back({"roles", "none", "grants: []"});
}

void AddSpecs(std::vector<Seed>& seeds) {
  const std::string json =
      R"({"streams": [{"name": "a", "weight": 2}, {"name": "b"}], "window": 4096,
 "max_length": "8192", "parallelism": {"data": 4, "microBatchesPerRank": 2},
 "policy": {"wlb": {"queue_thresholds": [1024, 2048]}}, "max_delay": "3",
 "sharding": "SHARDING_ADAPTIVE", "consumer_layout": {"layout": 1},
 "cost": {"analytic": {"model": {"name": "7B"}, "hardware": {"name": "H100"}}},
 "backlog_limit": 2.5})";
  const std::string yaml =
      "streams:\n- name: a\n  weight: 2\n- {name: 'b'}\nwindow: 4096\nmax_length: "
      "8192\n"
      "parallelism: {data: 4, micro_batches_per_rank: 2}\npolicy:\n  fixed_greedy:\n"
      "    window_batches: 4\nmax_delay: 3\nsplit_overlong: true\n"
      "consumer_layout:\n  layout: LAYOUT_RING_LLAMA3\n  shape_ladder: [1024, 4096]\n"
      "cost: &cost\n  quadratic: {crossover_tokens: 47000}\n";
  const std::string text =
      "streams { name: \"a\" weight: 2 }\nstreams { name: 'b' }\nwindow: 4096\n"
      "policy { original { split_documents: true } }\nbacklog_limit: 0.5\n"
      "cost { table { tokens: [64, 128] attention_ns: [1, 4] linear_ns: [2, 3] }\n"
      "  kernel_latency { q_lens: [128, 256] launch_ns: 5 } }\n"
      "merge: MERGE_MODE_ARRIVAL # as they come\nretention { checkpoints: 3 }\n";
  const std::array<std::string, 3> forms = {json, yaml, text};
  // The first byte chooses the file's name: .json, .yaml, .textproto, none of them.
  for (size_t i = 0; i < forms.size(); ++i) {
    seeds.push_back({"spec", absl::StrCat("form", i),
                     std::string(1, static_cast<char>(i)) + forms[i]});
    seeds.push_back({"spec", absl::StrCat("unnamed", i), "\3" + forms[i]});
  }
}

}  // namespace

void AddTextSeeds(const std::vector<uint32_t>& lengths, std::vector<Seed>& seeds) {
  AddArrivals(seeds);
  AddLengths(lengths, seeds);
  AddIndexes(lengths, seeds);
  AddJsonl(lengths, seeds);
  AddConfig(seeds);
  AddRoles(seeds);
  AddSpecs(seeds);
}

}  // namespace evenpack::fuzz
