// A small file, whole.
#ifndef EVENPACK_SERVER_RUNTIME_FILE_TEXT_H_
#define EVENPACK_SERVER_RUNTIME_FILE_TEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace evenpack {

// What the file at `path` holds. INVALID_ARGUMENT "FLAG: 'PATH' can't be read ...",
// where it is no file that can be read, or more than 1 MiB.
absl::StatusOr<std::string> ReadFileText(absl::string_view flag,
                                         const std::string& path);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_RUNTIME_FILE_TEXT_H_
