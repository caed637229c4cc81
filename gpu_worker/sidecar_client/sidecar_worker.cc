#include "gpu_worker/sidecar_client/sidecar_worker.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/grpc_status.h"
#include "evenpack/v1/worker_service.grpc.pb.h"
#include "gpu_worker/service/shape_messages.h"
#include "server/core/digest/digest_bytes.h"

namespace evenpack::worker {
namespace {

constexpr std::chrono::seconds kCloseTimeout{10};

std::unique_ptr<v1::WorkerService::Stub> StubOf(const std::string& socket_folder) {
  return v1::WorkerService::NewStub(
      grpc::CreateChannel(absl::StrCat("unix:", ServiceSocketIn(socket_folder)),
                          grpc::InsecureChannelCredentials()));
}

v1::OpenSessionRequest RequestOf(const SidecarWorkerOptions& options,
                                 const std::string& token) {
  v1::OpenSessionRequest request;
  request.set_token(token);
  request.set_job(options.job);
  request.set_dp_rank(options.dp_rank);
  request.set_cp_rank(options.cp_rank);
  request.set_from_step(options.from_step);
  if (options.last_digest.has_value()) {
    request.set_last_digest(DigestBytes(*options.last_digest));
  }
  request.set_member(options.member);
  ToMessage(options.shape, *request.mutable_shape());
  request.set_head_groups(options.head_groups);
  return request;
}

}  // namespace

SidecarWorker::SidecarWorker(Attachment attachment, std::string socket_folder)
    : SidecarLink(std::move(attachment)), socket_folder_(std::move(socket_folder)) {}

absl::StatusOr<std::unique_ptr<SidecarWorker>> SidecarWorker::Open(
    const SidecarWorkerOptions& options) {
  const auto deadline = std::chrono::system_clock::now() + options.open_timeout;
  absl::StatusOr<Attachment> attachment =
      Attach(AttachSocketIn(options.socket_folder), options.arena_bytes, options.map,
             {.timeout = options.open_timeout});
  if (!attachment.ok()) return attachment.status();
  std::unique_ptr<SidecarWorker> worker(
      new SidecarWorker(*std::move(attachment), options.socket_folder));
  if (absl::Status status = worker->OpenSession(options, deadline); !status.ok()) {
    return status;
  }
  return worker;
}

absl::Status SidecarWorker::OpenSession(
    const SidecarWorkerOptions& options,
    std::chrono::system_clock::time_point deadline) {
  grpc::ClientContext context;
  context.set_deadline(deadline);
  v1::OpenSessionResponse response;
  const grpc::Status status =
      StubOf(socket_folder_)
          ->OpenSession(&context, RequestOf(options, token()), &response);
  cp_size_ = response.cp_size();
  return client::FromGrpcStatus(status);
}

SidecarWorker::~SidecarWorker() {
  if (cp_size_ == 0 || IsGone()) return;
  // So that the rank has left its group when this returns; the worker also notices that
  // the connection ends.
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kCloseTimeout);
  v1::CloseSessionRequest request;
  request.set_token(token());
  v1::CloseSessionResponse response;
  StubOf(socket_folder_)->CloseSession(&context, request, &response);
}

}  // namespace evenpack::worker
