#include "client/cli/online/spec_file.h"

#include <gmock/gmock.h>

#include <string>

#include "evenpack/v1/job.pb.h"
#include "tests/testing/scratch_path.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::kInvalid;
using ::evenpack::testing::ScratchFile;
using ::evenpack::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kJson[] = R"({
  "streams": [{"name": "web"}, {"name": "books", "weight": 2}],
  "parallelism": {"data": 2, "micro_batches_per_rank": 2},
  "window": 131072,
  "maxDelay": "16",
  "backlog_limit": 2.5,
  "policy": {"wlb": {"queue_thresholds": [49152, 98304]}},
  "sharding": "SHARDING_ADAPTIVE"
})";
constexpr char kYaml[] = R"(# a job
streams:
- name: web
- {name: books, weight: 2}
parallelism: {data: 2, micro_batches_per_rank: 2}
window: 131072
maxDelay: 16
backlog_limit: 2.5
policy:
  wlb:
    queue_thresholds: [49152, 98304]
sharding: SHARDING_ADAPTIVE
)";
constexpr char kTextproto[] = R"(# a job
streams { name: "web" }
streams { name: "books" weight: 2 }
parallelism { data: 2 micro_batches_per_rank: 2 }
window: 131072
max_delay: 16
backlog_limit: 2.5
policy { wlb { queue_thresholds: [49152, 98304] } }
sharding: SHARDING_ADAPTIVE
)";

TEST(SpecFileTest, TheThreeFormsSayTheSame) {
  const std::vector<std::pair<std::string, std::string>> files = {
      {"a.json", kJson},
      {"a.YAML", kYaml},
      {"a.yml", kYaml},
      {"a.textproto", kTextproto},
      {"a.txtpb", kTextproto},
      {"a.pbtxt", kTextproto},
      // By content.
      {"a", kJson},
      {"-", kYaml},
      {"a.conf", kTextproto},
      // YAML takes JSON too.
      {"a.yaml", kJson}};
  v1::JobSpec expected;
  ASSERT_THAT(ParseSpec("a.textproto", kTextproto, expected), IsOk());
  EXPECT_EQ(expected.streams(1).weight(), 2U);
  EXPECT_EQ(expected.max_delay(), 16U);
  EXPECT_EQ(expected.policy().wlb().queue_thresholds(1), 98304U);
  for (const auto& [path, text] : files) {
    v1::JobSpec spec;
    ASSERT_THAT(ParseSpec(path, text, spec), IsOk()) << path;
    EXPECT_EQ(spec.DebugString(), expected.DebugString()) << path;
  }
}

TEST(SpecFileTest, AnEmptyFileIsASpecWithoutAField) {
  for (const char* const path : {"a.yaml", "a.textproto", "a"}) {
    v1::JobSpec spec;
    EXPECT_THAT(ParseSpec(path, "# nothing\n", spec), IsOk());
    EXPECT_EQ(spec.ByteSizeLong(), 0U);
  }
}

TEST(SpecFileTest, ErrorsNameTheFileAndTheLineOrTheField) {
  const std::vector<std::tuple<std::string, std::string, std::string>> cases = {
      {"a.json", "{\n \"window\": 5,\n}", "line 3, column 1"},
      {"a.json", "[]", "a JSON object is expected"},
      {"a.json", R"({"backlog_limit": 1e999})", "number overflow parsing '1e999'"},
      {"a.json", R"({"widow": 5})", "widow"},
      {"a.json", R"({"window": "five"})", "window"},
      {"a.json", R"({"window": -5})", "window"},
      {"a.json", R"({"parallelism": {"data": 1.5}})", "data"},
      {"a.json", R"({"sharding": "adaptive"})", "sharding"},
      {"a.yaml", "window: 5\nstreams: [\n", "line 3"},
      {"a.yaml", "window: 5\nwidow: 6\n", "widow"},
      {"a.yaml", "window: [5]\n", "window"},
      {"a.textproto", "window: 5\nwidow: 6\n", "line 2, column 6: "},
      {"a.textproto", "window: 5\nparallelism { data: x }\n", "line 2, column "},
      {"a.conf", "window: 5\nwidow: 6\n", "widow"},
  };
  for (const auto& [path, text, part] : cases) {
    v1::JobSpec spec;
    EXPECT_THAT(ParseSpec(path, text, spec),
                StatusIs(kInvalid,
                         AllOf(HasSubstr("--spec '" + path + "': "), HasSubstr(part))))
        << text;
  }
}

TEST(ReadSpecFileTest, ReadsAFile) {
  const std::string path = ScratchFile("spec_file_test.yaml", kYaml);
  v1::JobSpec spec;
  ASSERT_THAT(ReadSpecFile(path, spec), IsOk());
  EXPECT_EQ(spec.window(), 131072U);
  EXPECT_THAT(ReadSpecFile("/no/such/file", spec),
              StatusIs(kInvalid, HasSubstr("--spec: '/no/such/file' (No such file")));
  EXPECT_THAT(ReadSpecFile("/dev/zero", spec),
              StatusIs(kInvalid, HasSubstr("a file of at most 16777216 bytes")));
}

}  // namespace
}  // namespace evenpack
