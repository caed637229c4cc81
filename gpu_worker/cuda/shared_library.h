// A library that is found when the program runs, so that the program also starts, and
// is built, where there is none.
#ifndef EVENPACK_GPU_WORKER_CUDA_SHARED_LIBRARY_H_
#define EVENPACK_GPU_WORKER_CUDA_SHARED_LIBRARY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace evenpack::worker {

// Where to look for a library.
struct LibraryName {
  // Of a user's words: "the CUDA driver".
  std::string what;
  // What the loader searches for where nothing else is said.
  std::string file;
  // An environment variable that names another file.
  std::string variable;
};

// Stays loaded as long as the process: such libraries have threads of their own.
class SharedLibrary {
 public:
  // `path`: of the file; empty: that of the variable, or the file by its name.
  // FAILED_PRECONDITION: it can't be loaded; names what was looked for.
  static absl::StatusOr<SharedLibrary> Open(const LibraryName& name,
                                            const std::string& path);

  const std::string& path() const { return path_; }

  // Sets a pointer to the function of that name. FAILED_PRECONDITION: there is none.
  template <typename Function>
  absl::Status Find(const char* symbol, Function*& function) const {
    void* found = nullptr;
    absl::Status status = FindAddress(symbol, found);
    function = reinterpret_cast<Function*>(found);
    return status;
  }

 private:
  SharedLibrary(std::string what, std::string path, void* handle);

  absl::Status FindAddress(const char* symbol, void*& address) const;

  std::string what_;
  std::string path_;
  void* handle_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_CUDA_SHARED_LIBRARY_H_
