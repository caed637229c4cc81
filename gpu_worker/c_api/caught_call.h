// Calls behind functions for C, which no exception may leave.
#ifndef EVENPACK_GPU_WORKER_C_API_CAUGHT_CALL_H_
#define EVENPACK_GPU_WORKER_C_API_CAUGHT_CALL_H_

#include <exception>
#include <new>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace evenpack::worker {

// What the call returns. Of what the standard library throws, since nothing of this
// project does: RESOURCE_EXHAUSTED where memory, a thread or another thing of the
// system was not to be had, else INTERNAL.
template <typename Call>
absl::Status Caught(const Call& call) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("there is no memory left");
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the system refused: ", error.what()));
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("internal error: ", error.what()));
  }
}

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_C_API_CAUGHT_CALL_H_
