// Statuses as Python's exceptions.
#ifndef EVENPACK_CLIENT_PYTHON_BINDINGS_STATUS_ERROR_H_
#define EVENPACK_CLIENT_PYTHON_BINDINGS_STATUS_ERROR_H_

#include <exception>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace evenpack::python {

// Becomes an exception of evenpack.errors.
class StatusError final : public std::exception {
 public:
  // `status` is not OK.
  explicit StatusError(absl::Status status) : status_(std::move(status)) {}
  const char* what() const noexcept override { return "evenpack.errors"; }
  const absl::Status& status() const { return status_; }

 private:
  absl::Status status_;
};

inline void ThrowIfError(const absl::Status& status) {
  if (!status.ok()) throw StatusError(status);
}

template <typename T>
T ValueOrThrow(absl::StatusOr<T> result) {
  ThrowIfError(result.status());
  return *std::move(result);
}

// Once, when the module is imported.
void TranslateStatusErrors();

}  // namespace evenpack::python

#endif  // EVENPACK_CLIENT_PYTHON_BINDINGS_STATUS_ERROR_H_
