// Whether a store may be kept in a place.
#ifndef EVENPACK_SERVER_STORE_FILE_SYSTEM_CHECK_H_
#define EVENPACK_SERVER_STORE_FILE_SYSTEM_CHECK_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace evenpack {

// The name of a network file system by the type that statfs(2) tells; empty for any
// other. On one, locks and flushes are not what SQLite needs.
std::string NetworkFileSystem(uint64_t type);

// FAILED_PRECONDITION: the file's directory lies on a network file system, or what is
// there is no file. NOT_FOUND: there is no such directory.
absl::Status CheckFileSystem(const std::string& path);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_STORE_FILE_SYSTEM_CHECK_H_
