#include "gpu_worker/attach/attach_listener.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/runtime/hung_up.h"
#include "server/runtime/log.h"
#include "server/runtime/unix_socket.h"

namespace evenpack::worker {
namespace {

// How long one that connects may take to say what it wants. Nobody else is heard
// meanwhile.
constexpr timeval kPatience{1, 0};
constexpr int kRetryMilliseconds = 100;

absl::StatusOr<ucred> PeerOf(int connection) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return absl::ErrnoToStatus(errno, "SO_PEERCRED of the attach socket");
  }
  return peer;
}

#ifdef SO_PEERPIDFD
constexpr int kPeerProcess = SO_PEERPIDFD;
#else
constexpr int kPeerProcess = 77;
#endif

// Becomes readable when the process ends that has connected. None where the kernel
// tells of none: before Linux 6.5 not of one in another process namespace (process 0),
// as another container's.
FileDescriptor ProcessAt(int connection, pid_t process) {
  int told = -1;
  socklen_t size = sizeof(told);
  if (getsockopt(connection, SOL_SOCKET, kPeerProcess, &told, &size) == 0) {
    return FileDescriptor(told);
  }
  const int64_t opened = process > 0 ? syscall(SYS_pidfd_open, process, 0) : -1;
  return FileDescriptor(static_cast<int>(opened));
}

bool HasEnded(int process) {
  pollfd polled{process, POLLIN, 0};
  return poll(&polled, 1, 0) == 1;
}

absl::Status CheckKind(ArenaKind asked, ArenaKind had) {
  if (asked == had) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "arena_kind: ", static_cast<uint32_t>(asked),
      " is not accepted; accepted: ", static_cast<uint32_t>(had),
      had == ArenaKind::kCuda
          ? ", tensors in the memory of this worker's CUDA device (--device cuda)"
          : ", tensors in the processes' memory (--device cpu)"));
}

void Refuse(int connection, const absl::Status& why) {
  AttachReply reply;
  WriteResult(why, reply.result);
  SendReply(connection, reply, {}).IgnoreError();
}

}  // namespace

absl::StatusOr<std::unique_ptr<AttachListener>> AttachListener::Start(
    const AttachOptions& options, AttachHandler& handler) {
  // Others' processes can reach it only if they are meant to.
  const mode_t mode = options.user == geteuid() ? 0600 : 0666;
  absl::StatusOr<FileDescriptor> listening = ListenAt(options.path, mode);
  if (!listening.ok()) return listening.status();
  FileDescriptor stop(eventfd(0, EFD_CLOEXEC));
  if (!stop.valid()) return absl::ErrnoToStatus(errno, "eventfd");
  return std::unique_ptr<AttachListener>(
      new AttachListener(options, handler, *std::move(listening), std::move(stop)));
}

AttachListener::AttachListener(AttachOptions options, AttachHandler& handler,
                               FileDescriptor listening, FileDescriptor stop)
    : options_(std::move(options)),
      handler_(handler),
      listening_(std::move(listening)),
      stop_(std::move(stop)),
      thread_([this] { Run(); }) {}

AttachListener::~AttachListener() {
  eventfd_write(stop_.get(), 1);
  thread_.join();
  unlink(options_.path.c_str());
}

void AttachListener::Run() {
  for (;;) {
    // A descriptor of -1 is passed over.
    pollfd polled[] = {{stop_.get(), POLLIN, 0},
                       {listening_.get(), POLLIN, 0},
                       {connection_.get(), POLLRDHUP, 0},
                       {process_.get(), POLLIN, 0}};
    if (poll(polled, 4, -1) < 0) continue;
    if (polled[0].revents != 0) break;
    // One that comes after another has gone finds it gone, whatever poll() saw first.
    if (TrainerIsGone()) Detach();
    if (polled[1].revents != 0) Accept();
  }
  Detach();
}

// A fork of the process may keep the connection.
bool AttachListener::TrainerIsGone() const {
  return connection_.valid() &&
         (HasHungUp(connection_.get()) || HasEnded(process_.get()));
}

void AttachListener::Accept() {
  FileDescriptor connection(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!connection.valid()) {
    // Of who waits in the listener's queue nothing is taken, where descriptors are out.
    pollfd stop{stop_.get(), POLLIN, 0};
    poll(&stop, 1, kRetryMilliseconds);
    return;
  }
  for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO}) {
    setsockopt(connection.get(), SOL_SOCKET, option, &kPatience, sizeof(kPatience));
  }
  const absl::StatusOr<ucred> peer = CheckUser(connection.get());
  if (!peer.ok()) return NoteRefused("of another user", peer.status());
  const absl::Status status = Attach(std::move(connection), *peer);
  if (!status.ok()) NoteRefused("", status);
}

void AttachListener::NoteRefused(const char* place, const absl::Status& why) {
  const std::optional<uint64_t> left_out = refusals_.Take(place);
  if (!left_out.has_value()) return;
  Log(LogLevel::kWarning, "a trainer was refused",
      {{"reason", std::string(why.message())},
       {"refusals", absl::StrCat(*left_out + 1)}});
}

absl::StatusOr<ucred> AttachListener::CheckUser(int connection) const {
  absl::StatusOr<ucred> peer = PeerOf(connection);
  if (!peer.ok() || peer->uid == options_.user) return peer;
  absl::Status status = absl::PermissionDeniedError(
      absl::StrCat("user ", peer->uid, " may not attach; accepted: user ",
                   options_.user, " (--trainer-user)"));
  Refuse(connection, status);
  return status;
}

absl::StatusOr<AttachedTrainer> AttachListener::Admit(const ucred& peer) const {
  if (connection_.valid()) {
    return absl::FailedPreconditionError(
        absl::StrCat("process ", trainer_.process,
                     " is attached to this worker; accepted: one trainer at a time"));
  }
  AttachedTrainer trainer{peer.pid, peer.uid, {}};
  if (getrandom(trainer.token.data(), trainer.token.size(), 0) !=
      static_cast<ssize_t>(trainer.token.size())) {
    return absl::ErrnoToStatus(errno, "getrandom");
  }
  return trainer;
}

absl::StatusOr<std::shared_ptr<Arena>> AttachListener::MakeArena(
    const AttachRequest& request) const {
  if (request.magic != kArenaMagic || request.version != kArenaVersion) {
    return absl::InvalidArgumentError(absl::StrCat(
        "version: ", request.version, " is not accepted; accepted: ", kArenaVersion,
        ", as this worker has it"));
  }
  absl::Status status = CheckKind(request.kind, options_.arenas.kind);
  if (!status.ok()) return status;
  if (request.arena_bytes > options_.arenas.max_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "arena_bytes: ", request.arena_bytes, " is not accepted; accepted: up to ",
        options_.arenas.max_bytes, " (--memory of the worker)"));
  }
  absl::StatusOr<Arena> arena = options_.arenas.make(request.arena_bytes);
  if (!arena.ok()) return arena.status();
  return std::make_shared<Arena>(*std::move(arena));
}

absl::Status AttachListener::Attach(FileDescriptor connection, const ucred& peer) {
  // What it says is read first, so that it is there to read the answer.
  const absl::StatusOr<AttachRequest> request = ReceiveRequest(connection.get());
  const absl::StatusOr<AttachedTrainer> trainer = Admit(peer);
  const absl::Status status = trainer.ok() ? request.status() : trainer.status();
  // Only for who is let in: a device's memory is taken at once.
  const absl::StatusOr<std::shared_ptr<Arena>> arena =
      status.ok() ? MakeArena(*request) : status;
  if (!arena.ok()) {
    Refuse(connection.get(), arena.status());
    return arena.status();
  }
  trainer_ = *trainer;
  connection_ = std::move(connection);
  process_ = ProcessAt(connection_.get(), trainer_.process);
  handler_.OnAttached(trainer_, *arena);
  AttachReply reply;
  reply.token = trainer_.token;
  absl::Status sent =
      SendReply(connection_.get(), reply,
                {(*arena)->descriptor(), (*arena)->tensors_descriptor()});
  // It would wait for one that does not come.
  if (!sent.ok()) Detach();
  return sent;
}

void AttachListener::Detach() {
  if (!connection_.valid()) return;
  handler_.OnDetached();
  connection_ = FileDescriptor();
  process_ = FileDescriptor();
}

}  // namespace evenpack::worker
