#include "gpu_worker/nccl/nccl_endpoint.h"

#include <algorithm>
#include <iterator>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gpu_worker/communicator/exchange_version.h"
#include "server/core/document/invalid_field.h"
#include "server/runtime/unique_name.h"

namespace evenpack::worker {
namespace {

constexpr uint32_t kMostRanks = 1024;
constexpr size_t kIdDigits = 2 * sizeof(nccl::UniqueId);

std::string TextOf(const nccl::UniqueId& id) {
  return absl::BytesToHexString(
      absl::string_view(std::data(id.internal), std::size(id.internal)));
}

absl::StatusOr<nccl::UniqueId> IdOf(const std::string& address) {
  const bool is_id = address.size() == kIdDigits &&
                     std::all_of(address.begin(), address.end(), absl::ascii_isxdigit);
  if (!is_id) {
    return InvalidField("addresses[0]", absl::StrCat("'", address, "'"),
                        absl::StrCat("NCCL's id, in ", kIdDigits, " digits"));
  }
  const std::string bytes = absl::HexStringToBytes(address);
  nccl::UniqueId id;
  std::copy(bytes.begin(), bytes.end(), std::begin(id.internal));
  return id;
}

class NcclEndpoint final : public Endpoint {
 public:
  NcclEndpoint(std::shared_ptr<const NcclLibrary> library, NcclOptions options,
               const std::string& address)
      : library_(std::move(library)),
        options_(std::move(options)),
        address_(Versioned(address)) {}

  const std::string& address() const override { return address_; }

  absl::StatusOr<std::unique_ptr<Communicator>> Connect(
      const std::vector<std::string>& addresses) override {
    const auto plain = Unversioned(addresses);
    if (!plain.ok()) return plain.status();
    if (plain->size() != options_.seat.ranks) {
      return InvalidField("addresses", plain->size(),
                          absl::StrCat(options_.seat.ranks));
    }
    const absl::StatusOr<nccl::UniqueId> id = IdOf(plain->front());
    if (!id.ok()) return id.status();
    const CurrentContext current(*options_.device.context);
    const BesideCaptures beside(*options_.device.context);
    absl::StatusOr<std::unique_ptr<NcclConnection>> connection =
        NcclConnection::Connect(library_, options_.device.context, *id, options_.seat,
                                options_.timing, stop_.get_token());
    if (!connection.ok()) return connection.status();
    return MakeNcclCommunicator(*std::move(connection), options_.device,
                                options_.timing, options_.kernels);
  }

  void Cancel() override { stop_.request_stop(); }

 private:
  const std::shared_ptr<const NcclLibrary> library_;
  const NcclOptions options_;
  const std::string address_;
  std::stop_source stop_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Endpoint>> OpenNcclEndpoint(
    std::shared_ptr<const NcclLibrary> library, const NcclOptions& options) {
  const NcclSeat& seat = options.seat;
  absl::Status status = CheckRange("ranks", seat.ranks, 1, kMostRanks);
  if (status.ok()) status = CheckRange("rank", seat.rank, 0, seat.ranks - 1);
  if (!status.ok()) return status;
  if (seat.rank > 0) {
    return std::make_unique<NcclEndpoint>(std::move(library), options,
                                          UniqueName("rank"));
  }
  nccl::UniqueId id;
  status = library->Check(library->functions().ncclGetUniqueId(&id), "to make an id");
  if (!status.ok()) return status;
  return std::make_unique<NcclEndpoint>(std::move(library), options, TextOf(id));
}

OpenEndpointOf NcclEndpoints(std::shared_ptr<const NcclLibrary> library,
                             const NcclOptions& options) {
  return [library = std::move(library), options](uint32_t rank, uint32_t ranks) {
    NcclOptions seated = options;
    seated.seat = {rank, ranks};
    return OpenNcclEndpoint(library, seated);
  };
}

}  // namespace evenpack::worker
