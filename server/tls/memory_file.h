// A file without a place on a disk, whose text is replaced whole.
#ifndef EVENPACK_SERVER_TLS_MEMORY_FILE_H_
#define EVENPACK_SERVER_TLS_MEMORY_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "server/runtime/file_descriptor.h"

namespace evenpack {

// One thread at a time replaces it, others may open it by its path meanwhile.
class MemoryFile {
 public:
  // Who opens the path from now on reads this; who has opened it reads on what was
  // there. The time of its last change is a second later than that of the text before,
  // so that two looks at it, a second apart or not, tell whether both saw one text.
  absl::Status Replace(const std::string& text);
  // Of this process alone; empty before the first Replace.
  std::string path() const;

 private:
  FileDescriptor file_;
  int64_t changes_ = 0;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_TLS_MEMORY_FILE_H_
