#include "gpu_worker/attach/unforked_connection.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <set>

#include "server/runtime/mutex.h"
#include "server/runtime/unix_socket.h"

namespace evenpack::worker {
namespace {

// Those of this process. Nothing of it goes while the process forks.
class Connections {
 public:
  static Connections& OfProcess() {
    static auto& connections = *new Connections;
    return connections;
  }

  absl::StatusOr<FileDescriptor> Connect(const std::string& path) {
    MutexLock lock(mutex_);
    absl::StatusOr<FileDescriptor> connection = ConnectTo(path);
    if (connection.ok()) descriptors_.insert(connection->get());
    return connection;
  }

  void Close(FileDescriptor& connection) {
    MutexLock lock(mutex_);
    descriptors_.erase(connection.get());
    connection = FileDescriptor();
  }

 private:
  Connections() { pthread_atfork(BeforeFork, AfterFork, InFork); }

  static void BeforeFork() EVENPACK_THREAD_ANNOTATION(no_thread_safety_analysis) {
    OfProcess().mutex_.Lock();
  }
  static void AfterFork() EVENPACK_THREAD_ANNOTATION(no_thread_safety_analysis) {
    OfProcess().mutex_.Unlock();
  }
  // The fork's descriptors stay its owners', who close them.
  static void InFork() EVENPACK_THREAD_ANNOTATION(no_thread_safety_analysis) {
    for (const int descriptor : OfProcess().descriptors_) {
      dup3(OfProcess().hung_up_.get(), descriptor, O_CLOEXEC);
    }
    AfterFork();
  }

  Mutex mutex_;
  std::set<int> descriptors_ EVENPACK_GUARDED_BY(mutex_);
  // Made ahead, since a fork may have no descriptor left: connected to nothing.
  const FileDescriptor hung_up_{socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
};

}  // namespace

absl::StatusOr<UnforkedConnection> UnforkedConnection::To(const std::string& path) {
  absl::StatusOr<FileDescriptor> connection = Connections::OfProcess().Connect(path);
  if (!connection.ok()) return connection.status();
  return UnforkedConnection(*std::move(connection));
}

UnforkedConnection::~UnforkedConnection() {
  if (get() >= 0) Connections::OfProcess().Close(descriptor_);
}

}  // namespace evenpack::worker
