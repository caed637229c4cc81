#include "gpu_worker/communicator/gloo_endpoint.h"

#include <gloo/context.h>
#include <gloo/transport/address.h>
#include <gloo/transport/context.h>
#include <gloo/transport/device.h>
#include <gloo/transport/tcp/device.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <stop_token>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gpu_worker/communicator/exchange_version.h"
#include "gpu_worker/communicator/gloo_communicator.h"
#include "gpu_worker/communicator/gloo_pairs.h"
#include "gpu_worker/communicator/pipe_signal.h"
#include "server/core/document/invalid_field.h"

namespace evenpack::worker {
namespace {

constexpr uint32_t kMostRanks = 1024;
// Gloo waits so many times its timeout for a pair to be connected.
constexpr int kTimeoutsToConnect = 5;

// `bytes` are a sockaddr_storage and what Gloo adds. Behind the address of its family
// Gloo leaves what was on the stack, which is nothing for peers and the server.
void ClearBehindAddress(std::vector<char>& bytes) {
  sockaddr_storage at{};
  const size_t end = std::min(bytes.size(), sizeof(at));
  std::memcpy(&at, bytes.data(), end);
  const size_t used =
      at.ss_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  if (used < end) std::memset(bytes.data() + used, 0, end - used);
}

// A pair of ranks has an address for each of them; that of a rank is those of its end
// of each of its pairs, one after another.
class MeshContext final : public gloo::Context {
 public:
  MeshContext(const GlooOptions& options,
              std::shared_ptr<gloo::transport::Device> device)
      : gloo::Context(static_cast<int>(options.rank), static_cast<int>(options.ranks)) {
    setTimeout(options.exchange_timeout);
    device_ = std::move(device);
    transportContext_ = MakeGlooContext(device_, rank, size);
    // None would be no end of waiting.
    transportContext_->setTimeout(std::max(options.connect_timeout / kTimeoutsToConnect,
                                           std::chrono::milliseconds(1)));
    for (int peer = 0; peer < size; ++peer) {
      if (peer == rank) continue;
      std::vector<char> bytes = transportContext_->createPair(peer)->address().bytes();
      ClearBehindAddress(bytes);
      address_.append(bytes.begin(), bytes.end());
    }
  }

  const std::string& address() const { return address_; }

  // Less than all of them where `stop` was requested.
  void Connect(const std::vector<std::string>& addresses, const std::stop_token& stop) {
    const size_t bytes = size > 1 ? address_.size() / static_cast<size_t>(size - 1) : 0;
    for (int peer = 0; peer < size; ++peer) {
      if (peer == rank) continue;
      if (stop.stop_requested()) return;
      // This rank's place among the pairs of the peer.
      const auto place = static_cast<size_t>(rank < peer ? rank : rank - 1);
      const char* const first =
          addresses[static_cast<size_t>(peer)].data() + place * bytes;
      getPair(peer)->connect({first, first + bytes});
    }
  }
  // Who waits for a pair to be connected no longer does. From any thread.
  void Close() {
    for (int peer = 0; peer < size; ++peer) {
      if (peer != rank) getPair(peer)->close();
    }
  }

 private:
  std::string address_;
};

class GlooEndpoint final : public Endpoint {
 public:
  GlooEndpoint(GlooOptions options, std::shared_ptr<MeshContext> context)
      : options_(std::move(options)),
        context_(std::move(context)),
        // A group of one has no pairs, and an address says something.
        address_(
            Versioned(context_->address().empty() ? "alone" : context_->address())) {}

  const std::string& address() const override { return address_; }

  absl::StatusOr<std::unique_ptr<Communicator>> Connect(
      const std::vector<std::string>& addresses) override {
    const auto plain = Unversioned(addresses);
    if (!plain.ok()) return plain.status();
    if (absl::Status status = Check(*plain); !status.ok()) return status;
    const PipeSignalBlocked blocked;
    absl::Status status;
    try {
      context_->Connect(*plain, stop_.get_token());
      if (!stop_.stop_requested()) {
        return MakeGlooCommunicator(context_, options_.exchange_timeout);
      }
    } catch (const std::exception& error) {
      status = absl::UnavailableError(absl::StrCat("cp_rank ", options_.rank, " of ",
                                                   options_.ranks,
                                                   " can't connect: ", error.what()));
    }
    if (stop_.stop_requested()) return absl::CancelledError("connecting was given up");
    return status;
  }

  void Cancel() override {
    stop_.request_stop();
    const PipeSignalBlocked blocked;
    context_->Close();
  }

 private:
  absl::Status Check(const std::vector<std::string>& plain) const {
    if (plain.size() != options_.ranks) {
      return InvalidField("addresses", plain.size(), absl::StrCat(options_.ranks));
    }
    const size_t bytes = address_.size() - kExchangeVersion.size();
    for (uint32_t rank = 0; rank < options_.ranks; ++rank) {
      if (plain[rank].size() == bytes) continue;
      return InvalidField(absl::StrCat("addresses[", rank, "]"),
                          absl::StrCat(plain[rank].size(), " bytes"),
                          absl::StrCat(bytes, " bytes"));
    }
    return absl::OkStatus();
  }

  const GlooOptions options_;
  const std::shared_ptr<MeshContext> context_;
  const std::string address_;
  std::stop_source stop_;
};

// Gloo frees what it was not given where a host has no address.
absl::Status CheckHost(const std::string& host) {
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, nullptr, &found);
  if (error != 0) {
    return absl::UnavailableError(
        absl::StrCat("host: '", host, "' can't be found: ", gai_strerror(error)));
  }
  freeaddrinfo(found);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Endpoint>> OpenGlooEndpoint(const GlooOptions& options) {
  absl::Status status = CheckRange("ranks", options.ranks, 1, kMostRanks);
  if (status.ok()) status = CheckRange("rank", options.rank, 0, options.ranks - 1);
  if (status.ok()) status = CheckHost(options.host);
  if (!status.ok()) return status;
  const PipeSignalBlocked blocked;
  try {
    const gloo::transport::tcp::attr address(options.host.c_str());
    return std::make_unique<GlooEndpoint>(
        options, std::make_shared<MeshContext>(
                     options, gloo::transport::tcp::CreateDevice(address)));
  } catch (const std::exception& error) {
    return absl::UnavailableError(absl::StrCat(
        "host: '", options.host, "' can't be listened on: ", error.what()));
  }
}

OpenEndpointOf GlooEndpoints(const GlooOptions& options) {
  return [options](uint32_t rank, uint32_t ranks) {
    GlooOptions seated = options;
    seated.rank = rank;
    seated.ranks = ranks;
    return OpenGlooEndpoint(seated);
  };
}

}  // namespace evenpack::worker
