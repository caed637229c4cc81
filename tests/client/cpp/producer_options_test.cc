#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "absl/strings/str_cat.h"
#include "client/cpp/producer.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::client {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::StatusIs;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(ProducerOptions, AJobAndAStreamAreAllThatIsNeeded) {
  EXPECT_THAT(Validate(ProducerOptions{.job = "run", .stream = "web"}), IsOk());
}

TEST(ProducerOptions, RefusesWhatCannotWorkNamingTheField) {
  const auto refused = [](auto change) {
    ProducerOptions options{.job = "run", .stream = "web"};
    change(options);
    return Validate(options);
  };
  EXPECT_THAT(refused([](auto& o) { o.job = ""; }),
              StatusIs(kInvalid, HasSubstr("job: ''")));
  EXPECT_THAT(refused([](auto& o) { o.stream = ""; }),
              StatusIs(kInvalid, HasSubstr("stream: ''")));
  EXPECT_THAT(refused([](auto& o) { o.batch_documents = 0; }),
              StatusIs(kInvalid, HasSubstr("batch_documents: 0")));
  EXPECT_THAT(refused([](auto& o) { o.max_unaccepted_documents = 1023; }),
              StatusIs(kInvalid, HasSubstr("max_unaccepted_documents: 1023 is not "
                                           "accepted; accepted: at least "
                                           "batch_documents, 1024")));
  EXPECT_THAT(refused([](auto& o) { o.batch_token_bytes = 3; }),
              StatusIs(kInvalid, HasSubstr("batch_token_bytes: 3 is not accepted; "
                                           "accepted: 4 to 1073741824")));
  EXPECT_THAT(refused([](auto& o) { o.batch_token_bytes = (1 << 30) + 1; }),
              StatusIs(kInvalid, HasSubstr("batch_token_bytes: 1073741825")));
  EXPECT_THAT(
      refused([](auto& o) { o.max_unaccepted_token_bytes = (1 << 20) - 1; }),
      StatusIs(kInvalid, HasSubstr("max_unaccepted_token_bytes: 1048575 is not "
                                   "accepted; accepted: at least batch_token_bytes, "
                                   "1048576")));
}

TEST(ProducerOptions, BoundsOfTokensMayBeAsSmallAsOneAndAsLargeAsAMessage) {
  ProducerOptions options{.job = "run", .stream = "web"};
  options.batch_token_bytes = options.max_unaccepted_token_bytes = 4;
  EXPECT_THAT(Validate(options), IsOk());
  options.batch_token_bytes = options.max_unaccepted_token_bytes = 1 << 30;
  EXPECT_THAT(Validate(options), IsOk());
}

TEST(DocumentColumns, ColumnsMayBeLeftOut) {
  DocumentColumns documents;
  EXPECT_THAT(Validate(documents), IsOk());
  documents.length = {1, 2147483647};
  EXPECT_THAT(Validate(documents), IsOk());
  documents.id = {5, 5};
  documents.loss_tokens = {0, 2147483647};
  documents.source = {0, 1};
  EXPECT_THAT(Validate(documents), IsOk());
}

TEST(DocumentColumns, TokenIdsAreAsManyAsTheLengthsComeTo) {
  DocumentColumns documents;
  documents.length = {3, 1};
  documents.token_ids = {0, 1, 4294967295, 7};
  EXPECT_THAT(Validate(documents), IsOk());
  for (const size_t entries : {1U, 3U, 5U}) {
    documents.token_ids.resize(entries);
    EXPECT_THAT(Validate(documents),
                StatusIs(kInvalid, absl::StrCat("token_ids: ", entries,
                                                " entries is not accepted; accepted: "
                                                "none, or 4, the sum of length")));
  }
  documents.length.clear();
  EXPECT_THAT(Validate(documents), StatusIs(kInvalid, HasSubstr("none, or 0")));
}

TEST(DocumentColumns, ADocumentWhoseTokensAreNoMessageComesWithoutThem) {
  DocumentColumns documents;
  documents.length = {5, (1 << 28) + 1};
  EXPECT_THAT(Validate(documents), IsOk());
  documents.token_ids = {1};
  EXPECT_THAT(Validate(documents),
              StatusIs(kInvalid,
                       "length[1]: 268435457 is not accepted; accepted: 1 to "
                       "268435456 where token_ids come along"));
}

// Two documents in a file.
DocumentColumns InFile() {
  DocumentColumns documents;
  documents.length = {3, 1};
  documents.token_file = {.path = "/data/web.bin", .token_bytes = 2, .offset = {8, 0}};
  return documents;
}

TEST(DocumentColumns, TokensMayBeInAFileAtAnyOffset) {
  DocumentColumns documents = InFile();
  EXPECT_THAT(Validate(documents), IsOk());
  documents.token_file.token_bytes = 4;
  documents.token_file.offset[1] = std::numeric_limits<uint64_t>::max();
  documents.length[0] = 1 << 28;
  EXPECT_THAT(Validate(documents), IsOk());
}

TEST(DocumentColumns, ATokenFileOfNothingIsNone) {
  DocumentColumns documents = InFile();
  documents.token_file = {};
  EXPECT_THAT(Validate(documents), IsOk());
  documents.token_ids = {1, 2, 3, 4};
  EXPECT_THAT(Validate(documents), IsOk());
}

TEST(DocumentColumns, RefusesATokenFileThatCannotBeRead) {
  const auto refused = [](auto change) {
    DocumentColumns documents = InFile();
    change(documents);
    return Validate(documents);
  };
  EXPECT_THAT(refused([](auto& d) { d.token_file.path = "web.bin"; }),
              StatusIs(kInvalid,
                       "token_file.path: 'web.bin' is not accepted; accepted: an "
                       "absolute path on the server's machine"));
  EXPECT_THAT(refused([](auto& d) { d.token_file.path = ""; }),
              StatusIs(kInvalid, HasSubstr("token_file.path: ''")));
  for (const uint32_t bytes : {0U, 1U, 3U, 8U}) {
    EXPECT_THAT(refused([bytes](auto& d) { d.token_file.token_bytes = bytes; }),
                StatusIs(kInvalid, absl::StrCat("token_file.token_bytes: ", bytes,
                                                " is not accepted; accepted: 2 or 4")));
  }
  for (const size_t entries : {0U, 1U, 3U}) {
    EXPECT_THAT(refused([entries](auto& d) { d.token_file.offset.resize(entries); }),
                StatusIs(kInvalid, absl::StrCat("token_file.offset: ", entries,
                                                " entries is not accepted; accepted: "
                                                "one for each of 2 documents")));
  }
  EXPECT_THAT(refused([](auto& d) { d.length.clear(); }),
              StatusIs(kInvalid, HasSubstr("token_file.offset: 2 entries")));
  EXPECT_THAT(refused([](auto& d) {
                d.token_ids = {1, 2, 3, 4};
              }),
              StatusIs(kInvalid,
                       "token_ids: 4 entries is not accepted; accepted: "
                       "none where a token_file is given"));
  EXPECT_THAT(refused([](auto& d) { d.length[1] = (1 << 28) + 1; }),
              StatusIs(kInvalid,
                       "length[1]: 268435457 is not accepted; accepted: 1 to 268435456 "
                       "where a token_file is given"));
}

TEST(DocumentColumns, RefusesColumnsOutOfShapeOrRange) {
  const auto refused = [](auto change) {
    DocumentColumns documents;
    documents.length = {3, 4};
    change(documents);
    return Validate(documents);
  };
  EXPECT_THAT(refused([](auto& d) { d.id = {1}; }),
              StatusIs(kInvalid, HasSubstr("id: 1 entries")));
  EXPECT_THAT(refused([](auto& d) {
                d.loss_tokens = {1, 1, 1};
              }),
              StatusIs(kInvalid, HasSubstr("loss_tokens: 3 entries")));
  EXPECT_THAT(refused([](auto& d) { d.source = {1}; }),
              StatusIs(kInvalid, HasSubstr("source: 1 entries")));
  EXPECT_THAT(refused([](auto& d) { d.length[1] = 0; }),
              StatusIs(kInvalid, HasSubstr("length[1]: 0")));
  EXPECT_THAT(refused([](auto& d) { d.length[0] = 2147483648; }),
              StatusIs(kInvalid, HasSubstr("length[0]: 2147483648")));
  EXPECT_THAT(refused([](auto& d) {
                d.loss_tokens = {3, 5};
              }),
              StatusIs(kInvalid, HasSubstr("loss_tokens[1]: 5 is not accepted; "
                                           "accepted: 0 to 4")));
}

}  // namespace
}  // namespace evenpack::client
