// sidecar_on_doubles HOST:PORT FOLDER...: a sidecar for each socket folder, as
// `evenpack-worker --serve --device cuda`, on doubles of the driver, of NCCL and of
// cuDNN's plans: all in one process, since the double of NCCL connects ranks of one. A
// trainer maps their tensors with the same double of the driver. Prints "serving"; ends
// with its standard input.
#include <unistd.h>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "client/cpp/client.h"
#include "gpu_worker/service/worker_service.h"
#include "gpu_worker/sidecar/cuda_sidecar_form.h"
#include "tests/gpu_worker/cudnn/rank_on_doubles.h"

namespace {

namespace client = evenpack::client;
using evenpack::testing::RankOnDoubles;
using evenpack::worker::CudaSidecarForm;
using evenpack::worker::WorkerServer;
using evenpack::worker::WorkerServerOptions;

absl::Status Serve(const std::string& address,
                   const std::vector<std::string>& folders) {
  const absl::StatusOr<client::Client> connected =
      client::Client::Connect({.address = address});
  if (!connected.ok()) return connected.status();
  std::vector<std::unique_ptr<WorkerServer>> servers;
  for (const std::string& folder : folders) {
    auto form =
        CudaSidecarForm::Open({.rank = RankOnDoubles(), .nccl = EVENPACK_FAKE_NCCL});
    if (!form.ok()) return form.status();
    WorkerServerOptions options;
    options.socket_folder = folder;
    options.trainer_user = geteuid();
    options.sidecar.form = *std::move(form);
    options.sidecar.memory_bytes = 256 << 20;
    auto server = WorkerServer::Start(*connected, options);
    if (!server.ok()) return server.status();
    servers.push_back(*std::move(server));
  }
  std::cout << "serving\n" << std::flush;
  for (std::string line; std::getline(std::cin, line);) continue;
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: sidecar_on_doubles HOST:PORT FOLDER...\n";
    return 2;
  }
  const absl::Status status = Serve(argv[1], {argv + 2, argv + argc});
  if (!status.ok()) std::cerr << status << '\n';
  return status.ok() ? 0 : 1;
}
