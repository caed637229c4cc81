// The error for what the server sent and can't be.
#ifndef EVENPACK_CLIENT_CPP_DATA_LOSS_H_
#define EVENPACK_CLIENT_CPP_DATA_LOSS_H_

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace evenpack::client {

// DATA_LOSS with a message of these parts.
template <typename... Parts>
absl::Status DataLoss(const Parts&... parts) {
  return absl::DataLossError(absl::StrCat(parts...));
}

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_DATA_LOSS_H_
