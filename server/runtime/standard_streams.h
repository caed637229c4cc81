// What a program reads from and writes to without being told where.
#ifndef EVENPACK_SERVER_RUNTIME_STANDARD_STREAMS_H_
#define EVENPACK_SERVER_RUNTIME_STANDARD_STREAMS_H_

#include "absl/status/status.h"

namespace evenpack {

// First of all: a reader that is gone makes a write fail, and doesn't end the process,
// nor does a limit of files' size (`ulimit -f`); and streams that the process was
// started without fail likewise, rather than be what is opened next.
void PrepareStandardStreams();

// What the errno of a write to standard output, or 0, comes to. UNAVAILABLE naming it
// and the system's reason; OK where its reader has gone, as in `... | head`.
absl::Status StandardOutputStatus(int error);

// Whether all came out that was written to stdout. Likewise.
absl::Status FlushStandardOutput();

}  // namespace evenpack

#endif  // EVENPACK_SERVER_RUNTIME_STANDARD_STREAMS_H_
