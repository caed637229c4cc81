// How much of a list a page has.
#ifndef EVENPACK_SERVER_SERVICE_PAGE_SIZE_H_
#define EVENPACK_SERVER_SERVICE_PAGE_SIZE_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"

namespace evenpack {

// Of what a request asks for: 100 for 0, never above 1,000. INVALID_ARGUMENT naming
// page_size where it is below 0.
absl::StatusOr<size_t> PageSize(int32_t asked);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_PAGE_SIZE_H_
