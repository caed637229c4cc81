// Preloaded into PostgreSQL: while the file that EVENPACK_FULL_DISK names is there, no
// file below the folder base/, where tables are, can grow. The log of transactions, of
// which PostgreSQL has written the room ahead, goes on as on a disk that is full.
#include <dlfcn.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

bool IsFull() {
  const char* const flag = std::getenv("EVENPACK_FULL_DISK");
  return flag != nullptr && access(flag, F_OK) == 0;
}

bool IsOfTables(int file) {
  char name[64];
  char found[PATH_MAX] = {};
  std::snprintf(name, sizeof(name), "/proc/self/fd/%d", file);
  return readlink(name, found, sizeof(found) - 1) > 0 &&
         std::strstr(found, "/base/") != nullptr;
}

bool Refuses(int file, off_t end) {
  struct stat known = {};
  const int before = errno;
  const bool refuses =
      fstat(file, &known) == 0 && end > known.st_size && IsFull() && IsOfTables(file);
  errno = refuses ? ENOSPC : before;
  return refuses;
}

template <typename Function>
Function* Next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

// The library's declarations name their parameters by reserved names.
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
extern "C" {

ssize_t pwrite(int file, const void* bytes, size_t count, off_t offset) {
  if (Refuses(file, offset + static_cast<off_t>(count))) return -1;
  return Next<decltype(pwrite)>("pwrite")(file, bytes, count, offset);
}

ssize_t pwritev(int file, const iovec* parts, int count, off_t offset) {
  off_t end = offset;
  for (int i = 0; i < count; ++i) end += static_cast<off_t>(parts[i].iov_len);
  if (Refuses(file, end)) return -1;
  return Next<decltype(pwritev)>("pwritev")(file, parts, count, offset);
}

int posix_fallocate(int file, off_t offset, off_t count) {
  if (Refuses(file, offset + count)) return ENOSPC;
  return Next<decltype(posix_fallocate)>("posix_fallocate")(file, offset, count);
}

}  // extern "C"
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
