#include "gpu_worker/communicator/gloo_folder.h"

#include <gloo/rendezvous/file_store.h>
#include <gloo/rendezvous/prefix_store.h>

#include <exception>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace evenpack::worker {
namespace {

// What each rank says under this name, once all have said it.
std::vector<std::string> TellAll(gloo::rendezvous::Store& store,
                                 const GlooOptions& options, const std::string& name,
                                 const std::string& said) {
  const auto key = [&name](uint32_t rank) { return absl::StrCat(name, "/", rank); };
  store.set(key(options.rank), {said.begin(), said.end()});
  std::vector<std::string> keys;
  keys.reserve(options.ranks);
  for (uint32_t rank = 0; rank < options.ranks; ++rank) keys.push_back(key(rank));
  store.wait(keys, options.connect_timeout);
  std::vector<std::string> all;
  all.reserve(options.ranks);
  for (const std::string& each : keys) {
    const std::vector<char> bytes = store.get(each);
    all.emplace_back(bytes.begin(), bytes.end());
  }
  return all;
}

// The files of a group stay: whoever removed them could not know that all have read
// them.
class Files final : public gloo::rendezvous::FileStore {
 public:
  using FileStore::FileStore;

  bool Has(const std::string& key) { return check({key}); }
};

absl::Status CheckUnused(Files& files, const GlooFolder& group) {
  const uint32_t rank = group.options.rank;
  // As PrefixStore makes it.
  if (!files.Has(absl::StrCat(group.group, "/address/", rank))) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "group: '", group.group, "' has or had a cp_rank ", rank, " in folder '",
      group.folder,
      "'; accepted: a name that no other group has used there, or an empty folder"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> ConnectInFolder(const GlooFolder& group) {
  const GlooOptions& options = group.options;
  absl::StatusOr<std::unique_ptr<Endpoint>> endpoint = OpenGlooEndpoint(options);
  if (!endpoint.ok()) return endpoint.status();
  try {
    Files files(group.folder);
    if (absl::Status status = CheckUnused(files, group); !status.ok()) return status;
    gloo::rendezvous::PrefixStore store(group.group, files);
    absl::StatusOr<std::unique_ptr<Communicator>> communicator = (*endpoint)->Connect(
        TellAll(store, options, "address", (*endpoint)->address()));
    // So that nobody leaves while others connect to it.
    if (communicator.ok()) TellAll(store, options, "connected", "1");
    return communicator;
  } catch (const std::exception& error) {
    return absl::UnavailableError(absl::StrCat(
        "cp_rank ", options.rank, " of ", options.ranks, " can't join group '",
        group.group, "' in folder '", group.folder, "': ", error.what()));
  }
}

}  // namespace evenpack::worker
