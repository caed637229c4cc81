// Bytes written to a descriptor to the last.
#ifndef EVENPACK_SERVER_RUNTIME_WRITE_ALL_H_
#define EVENPACK_SERVER_RUNTIME_WRITE_ALL_H_

#include "absl/strings/string_view.h"

namespace evenpack {

// In as many writes as it takes. False, with the system's reason in errno: some of them
// were not written.
bool WriteAll(int descriptor, absl::string_view bytes);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_RUNTIME_WRITE_ALL_H_
