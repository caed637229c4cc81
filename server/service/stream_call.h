// How a bidirectional stream is answered, by the server and by the plan agent: what
// comes is read as bytes, one answer is written at a time, and the call ends once
// nothing is being written.
#ifndef EVENPACK_SERVER_SERVICE_STREAM_CALL_H_
#define EVENPACK_SERVER_SERVICE_STREAM_CALL_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "server/runtime/mutex.h"
#include "server/service/live_calls.h"

namespace evenpack {

using StreamReactor = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;

// Made as a shared pointer, it holds itself from Start() until the transport is done
// with it. Any thread may call End() and Pump(); the transport's operations are started
// under no lock, since they may call back before they return.
class StreamCall : public StreamReactor,
                   public DrainableCall,
                   public std::enable_shared_from_this<StreamCall> {
 public:
  // `calls`, of which it is one once it is admitted, outlives it.
  explicit StreamCall(LiveCalls& calls) : calls_(calls) {}

  // Reads, or ends the call where it isn't admitted.
  void Start();

  void OnReadDone(bool ok) final;
  void OnWriteDone(bool ok) final;
  void OnCancel() final;
  void OnDone() final;

 protected:
  // The first of several counts.
  void End(absl::Status status);
  // Writes or finishes, where that is next.
  void Pump();

  // The next read, from ReadDone.
  void Read() { StartRead(&bytes_); }
  // From another thread: until the transport knows of a read, it would take a finished
  // call for done. So Pump() finishes none between the two.
  void ReadIsNext() EVENPACK_REQUIRES(mutex_) { ++starting_reads_; }
  void ReadNext();

  template <typename Call>
  std::shared_ptr<Call> SelfAs() {
    return std::static_pointer_cast<Call>(shared_from_this());
  }

  // Of the reads, which come one at a time.
  grpc::ByteBuffer bytes_;
  // Of the write under way.
  grpc::ByteBuffer response_;
  grpc::WriteOptions options_;

  Mutex mutex_;
  // With what the call ends.
  std::optional<absl::Status> ending_ EVENPACK_GUARDED_BY(mutex_);
  bool finished_ EVENPACK_GUARDED_BY(mutex_) = false;

 private:
  // OK, or why nothing of the call is looked at.
  virtual absl::Status Admit() = 0;
  // What it ends with where there are as many as may be.
  virtual absl::Status TooMany(const LiveCalls& calls) = 0;
  // bytes_ came, or, not ok, nothing more does; the call lives until that returns. Not
  // told of what comes once the call is to end.
  virtual void ReadDone(bool ok) = 0;
  // Puts into response_ and options_ what is to be written next, and is true; or sets
  // ending_ where that comes next. Not asked while something is being written.
  virtual bool TakeNext() EVENPACK_REQUIRES(mutex_) = 0;
  // Whether what was begun is over, so that the call may be finished.
  virtual bool MayFinish() EVENPACK_REQUIRES(mutex_) { return true; }
  // What was written is on its way; not ok: the client is gone.
  virtual void Written(bool /*ok*/) {}
  // The call is to end; before that is told.
  virtual void Ending() {}
  // Finishes the call, once. Also later: the call lives until then.
  virtual void FinishWith(const absl::Status& status) = 0;
  // The transport is done with the call.
  virtual void Left() = 0;

  LiveCalls& calls_;
  // Until the call is done.
  std::shared_ptr<StreamCall> self_;

  bool writing_ EVENPACK_GUARDED_BY(mutex_) = false;
  int starting_reads_ EVENPACK_GUARDED_BY(mutex_) = 0;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_STREAM_CALL_H_
