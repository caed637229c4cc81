#include "gpu_worker/attach/unforked_connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>

#include "server/runtime/hung_up.h"
#include "server/runtime/unix_socket.h"
#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::ScratchDirectory;
using evenpack::testing::StatusIs;
using ::testing::HasSubstr;

class UnforkedConnectionTest : public ::testing::Test {
 protected:
  UnforkedConnectionTest() {
    connection_.emplace(UnforkedConnection::To(path_).value());
    accepted_ = FileDescriptor(accept(listening_->get(), nullptr, nullptr));
  }

  const ScratchDirectory folder_;
  const std::string path_ = folder_.File("a.sock");
  const absl::StatusOr<FileDescriptor> listening_ = ListenAt(path_, 0600);
  std::optional<UnforkedConnection> connection_;
  FileDescriptor accepted_;
};

// A fork that lives until it is told to end, and then ends with whether it has what it
// must have.
class Fork {
 public:
  explicit Fork(const UnforkedConnection& connection) {
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends_), 0);
    process_ = fork();
    char byte = 'x';
    if (process_ == 0) {
      close(ends_[0]);
      const bool told = write(ends_[1], &byte, 1) == 1 && read(ends_[1], &byte, 1) == 0;
      _exit(told && HasHungUp(connection.get()) ? 0 : 1);
    }
    close(ends_[1]);
    EXPECT_EQ(read(ends_[0], &byte, 1), 1);  // it has begun
  }
  int End() {
    close(ends_[0]);
    int status = -1;
    EXPECT_EQ(waitpid(process_, &status, 0), process_);
    return status;
  }

 private:
  int ends_[2] = {-1, -1};
  pid_t process_ = -1;
};

TEST_F(UnforkedConnectionTest, ItsEndIsNoticedWhileAForkLives) {
  Fork fork(*connection_);
  EXPECT_FALSE(HasHungUp(connection_->get()));
  EXPECT_FALSE(HasHungUp(accepted_.get()));
  connection_.reset();
  EXPECT_TRUE(HasHungUp(accepted_.get()));
  EXPECT_EQ(fork.End(), 0);
}

TEST_F(UnforkedConnectionTest, TheEndOfAForkIsNotItsOwn) {
  Fork fork(*connection_);
  EXPECT_EQ(fork.End(), 0);
  EXPECT_FALSE(HasHungUp(connection_->get()));
  EXPECT_FALSE(HasHungUp(accepted_.get()));
}

TEST_F(UnforkedConnectionTest, WhereNobodyListensThereIsNone) {
  EXPECT_THAT(UnforkedConnection::To(folder_.File("b.sock")).status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("b.sock")));
}

}  // namespace
}  // namespace evenpack::worker
