// A context for the commands that talk to a server: a mock of one, and texts for what
// is written.
#ifndef EVENPACK_TESTS_CLIENT_CLI_ONLINE_TEST_CONTEXT_H_
#define EVENPACK_TESTS_CLIENT_CLI_ONLINE_TEST_CONTEXT_H_

#include <gmock/gmock.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/cli/online/online_context.h"
#include "client/cpp/mocks/mock_connection.h"

namespace evenpack::testing {

class StringOutput : public Output {
 public:
  bool Write(std::string_view written) override {
    if (writes_left_ == 0) return false;
    --writes_left_;
    text_ += written;
    return true;
  }
  const std::string& text() const { return text_; }
  // Whoever reads leaves after so many writes.
  void CloseAfter(size_t writes) { writes_left_ = writes; }

 private:
  std::string text_;
  size_t writes_left_ = SIZE_MAX;
};

struct TestContext {
  // Apart from the class: what the mock expands to is compiled once.
  TestContext();
  ~TestContext();

  OnlineContext Get();

  StringOutput out;
  StringOutput err;
  Interrupt interrupt;
  const std::shared_ptr<::testing::StrictMock<client::MockConnection>> connection;
  // The servers that were asked for.
  std::vector<std::string> servers;
  // Of the latest of these.
  bool returned_credits = true;
  client::Security security;
  // The environment's.
  std::map<std::string, std::string> security_variables;
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_CLIENT_CLI_ONLINE_TEST_CONTEXT_H_
