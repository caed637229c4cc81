#include "server/access/subject.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::kInvalid;
using testing::StatusIs;
using Kind = Subject::Kind;

TEST(SubjectTest, IsReadByHowItBeginsAndWrittenTheSame) {
  struct Row {
    const char* text;
    Subject subject;
  };
  for (const Row& row :
       {Row{"CN=ops", {Kind::kName, "CN=ops"}},
        {"CN=ops,OU=a\\, b,O=Example", {Kind::kName, "CN=ops,OU=a\\, b,O=Example"}},
        {"spiffe://cluster/ns/train", {Kind::kUri, "spiffe://cluster/ns/train"}},
        {"dns:trainer.example", {Kind::kDns, "trainer.example"}},
        {"CN=a = b,O=x y", {Kind::kName, "CN=a = b,O=x y"}},
        {"CN=\\ a\\ +OU=\\\\", {Kind::kName, "CN=\\ a\\ +OU=\\\\"}},
        {"dns://x", {Kind::kUri, "dns://x"}}}) {
    const auto subject = ParseSubject(row.text);
    ASSERT_THAT(subject, IsOk()) << row.text;
    EXPECT_EQ(*subject, row.subject);
    EXPECT_EQ(FormatSubject(*subject), row.text);
  }
  EXPECT_EQ(ParseSubject("dns:Trainer.EXAMPLE")->value, "trainer.example");
}

TEST(SubjectTest, RefusesWhatNoCertificateWouldMatch) {
  for (const char* text :
       {"", "ops", "dns:", "CN=", "=ops", "CN=ops, O=Example", "O=a\\, b, C=c",
        "CN = ops", "CN= ops", "CN =ops", "CN=ops,O = Example", "CN=ops+OU= x",
        "CN=ops ,O=Example", "CN=ops\\\\ ,O=Example", " CN=ops", "CN=ops ", "://x",
        "CN=\xc3\xa4", "CN=a\nb"}) {
    EXPECT_THAT(ParseSubject(text), StatusIs(kInvalid, HasSubstr("accepted: ")))
        << text;
  }
}

// As `openssl x509 -noout -subject` prints it.
TEST(SubjectTest, SaysHowAnotherFormOfANameIsWritten) {
  EXPECT_THAT(ParseSubject("CN = ops, O = Example"),
              StatusIs(kInvalid, HasSubstr("without spaces around '=' and ','")));
}

TEST(SubjectTest, ACertificateHasItsNamesOfAllKinds) {
  EXPECT_THAT(
      SubjectsOf({"CN=ops,O=Example", "ops", {"spiffe://c/ops"}, {"OPS.example"}}),
      ElementsAre(Subject{Kind::kName, "CN=ops,O=Example"},
                  Subject{Kind::kName, "CN=ops"}, Subject{Kind::kUri, "spiffe://c/ops"},
                  Subject{Kind::kDns, "ops.example"}));
  EXPECT_THAT(SubjectsOf({"CN=ops", "ops", {}, {}}),
              ElementsAre(Subject{Kind::kName, "CN=ops"}));
  EXPECT_THAT(SubjectsOf({}), IsEmpty());
}

// Each would pass for somebody else: a whole name, or a name of another kind.
TEST(SubjectTest, NamesThatLookLikeOthersAreLeftOut) {
  for (const char* common_name : {"ops,O=Example", "ops+UID=1", "ops\\", "#ops", " ops",
                                  "ops ", "a=b", "ops\n", "\xc3\xb6ps"}) {
    EXPECT_THAT(SubjectsOf({"", common_name, {}, {}}), IsEmpty()) << common_name;
  }
  EXPECT_THAT(SubjectsOf({"", "", {"CN=ops", "dns:a", "://a", "a b://c", "x"}, {}}),
              IsEmpty());
  EXPECT_THAT(SubjectsOf({"", "", {}, {"//x", "a\xff"}}),
              ElementsAre(Subject{Kind::kDns, "//x"}));
  EXPECT_NE(*ParseSubject("dns://x"), (Subject{Kind::kDns, "//x"}));
}

}  // namespace
}  // namespace evenpack
