// Whether writes follow what a store holds: the rules of StateStore::Commit, which
// every store shares.
#ifndef EVENPACK_SERVER_STORE_WRITE_CHECK_H_
#define EVENPACK_SERVER_STORE_WRITE_CHECK_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "server/store/state_store.h"

namespace evenpack {

// `records_of`: how many records a job has had, or none where there is no such job.
absl::Status CheckWrites(
    std::span<const StoreWrite> writes,
    absl::FunctionRef<std::optional<uint64_t>(const std::string& job)> records_of);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_STORE_WRITE_CHECK_H_
