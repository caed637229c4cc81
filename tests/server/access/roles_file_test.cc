#include "server/access/roles_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::kInvalid;
using ::testing::Not;
using ::testing::StartsWith;
using testing::StatusIs;

const std::string& Hash() {
  static const std::string kHash(64, 'a');
  return kHash;
}

// A file with one grant of these lines.
std::string GrantOf(const std::string& lines) { return "grants:\n  - " + lines; }

TEST(RolesFileTest, HasGrantsInTheirOrder) {
  const auto roles = ParseRoles(
      "grants:\n"
      "  - role: operator\n    jobs: ['*']\n"
      "    subjects: ['CN=ops', 'spiffe://c/ops', 'dns:a.B']\n"
      "  - {role: producer, jobs: [a, 'b-*'], tokens: ['feed:" +
      Hash() +
      "']}\n"
      "  - {role: consumer, jobs: [a], tokens: ['feed:" +
      Hash() + "', 'feed:" + std::string(64, 'B') + "']}\n");
  ASSERT_THAT(roles, IsOk());
  ASSERT_EQ(roles->grants.size(), 3U);
  EXPECT_EQ(roles->grants[0].role, Role::kOperator);
  EXPECT_THAT(roles->grants[0].jobs, ElementsAre("*"));
  EXPECT_THAT(roles->grants[0].subjects,
              ElementsAre(Subject{Subject::Kind::kName, "CN=ops"},
                          Subject{Subject::Kind::kUri, "spiffe://c/ops"},
                          Subject{Subject::Kind::kDns, "a.b"}));
  EXPECT_EQ(roles->grants[1].role, Role::kProducer);
  EXPECT_THAT(roles->grants[1].jobs, ElementsAre("a", "b-*"));
  ASSERT_EQ(roles->grants[1].tokens.size(), 1U);
  EXPECT_EQ(roles->grants[1].tokens[0].name, "feed");
  EXPECT_EQ(roles->grants[1].tokens[0].hash, *ParseTokenHash(Hash()));
  EXPECT_EQ(roles->grants[2].role, Role::kConsumer);
  EXPECT_EQ(roles->grants[2].tokens.size(), 2U) << "an old and a new one";
}

TEST(RolesFileTest, NoGrantIsAnAnswerAndNoListIsNone) {
  const auto none = ParseRoles("grants: []\n");
  ASSERT_THAT(none, IsOk());
  EXPECT_TRUE(none->grants.empty());
  for (const char* text :
       {"", "# nothing\n", "{}", "grants:\n", "grants: x", "[]", "x"}) {
    EXPECT_THAT(ParseRoles(text), StatusIs(kInvalid, StartsWith("roles: line ")))
        << text;
  }
}

TEST(RolesFileTest, AFileWithNothingInItSaysSo) {
  for (const char* text : {"", "\n", "# nothing\n"}) {
    EXPECT_THAT(ParseRoles(text),
                StatusIs(kInvalid,
                         "roles: line 1: nothing there; accepted: 'grants' with a "
                         "list of grants"))
        << text;
  }
}

TEST(RolesFileTest, NamesTheLineAndTheFieldOfWhatItRefuses) {
  const std::string rest = "\n    subjects: ['CN=a']";
  struct Row {
    std::string text;
    std::string says;
  };
  for (const Row& row : {
           Row{"grants: []\nroles: []\n", "line 2: 'roles' is not accepted"},
           {"grants: []\ngrants: []\n", "line 2: 'grants' is given twice"},
           {"grants:\n  - x\n", "line 2: grants[0]: no mapping"},
           {"grants: [\n", "line "},
           {"grants: []\n---\ngrants: []\n", "line 2: a second document"},
           {GrantOf("role: root\n    jobs: ['*']" + rest),
            "line 2: grants[0].role: 'root' is not accepted; accepted: producer, "
            "consumer, operator"},
           {GrantOf("jobs: ['*']" + rest), "line 2: grants[0].role: none"},
           {GrantOf("role: [operator]\n    jobs: ['*']" + rest), "grants[0].role: ''"},
           {GrantOf("role: operator" + rest), "grants[0].jobs: none"},
           {GrantOf("role: operator\n    jobs: []" + rest), "grants[0].jobs: none"},
           {GrantOf("role: operator\n    jobs: '*'" + rest),
            "line 3: grants[0].jobs: no list"},
           {GrantOf("role: operator\n    jobs: [a, 'b/c']" + rest),
            "line 3: grants[0].jobs[1]: 'b/c' is not accepted"},
           {GrantOf("role: operator\n    jobs: ['*']"),
            "line 2: grants[0]: neither subjects nor tokens"},
           {GrantOf("role: operator\n    jobs: ['*']\n    subjects: [ops]"),
            "line 4: grants[0].subjects[0]: 'ops' is no subject"},
           {GrantOf("role: operator\n    job: ['*']" + rest),
            "line 3: grants[0]: 'job' is not accepted; accepted: role, jobs"},
           {GrantOf("role: operator\n    role: operator\n    jobs: ['*']" + rest),
            "line 3: grants[0]: 'role' is given twice"},
           {GrantOf("role: operator\n    jobs: ['*']\n    tokens: ['a:" + Hash() +
                    "', 'b:" + Hash() + "']"),
            "line 4: grants[0].tokens[1]: the token of 'b' is that of 'a' as well"},
       }) {
    EXPECT_THAT(
        ParseRoles(row.text),
        StatusIs(kInvalid, AllOf(StartsWith("roles: line "), HasSubstr(row.says))))
        << row.text;
  }
}

TEST(RolesFileTest, ShowsNothingOfATokenThatIsNoHash) {
  for (const std::string& token :
       {std::string("SECRET"), std::string("feed:SECRET"), "SECRET" + Hash(),
        ":" + Hash(), "a b:" + Hash(), std::string("SECRET: SECRET"),
        std::string("[SECRET]"), std::string(129, 'S') + ":" + Hash()}) {
    EXPECT_THAT(
        ParseRoles(
            GrantOf("role: operator\n    jobs: ['*']\n    tokens: [" + token + "]")),
        StatusIs(kInvalid, AllOf(HasSubstr("line 4: grants[0].tokens[0]: "),
                                 HasSubstr("NAME:HASH"), Not(HasSubstr("SECRET")),
                                 Not(HasSubstr(Hash())))))
        << token;
  }
}

}  // namespace
}  // namespace evenpack
