// Whether a write-ahead log of SQLite is whole, as far as can be told.
//
// SQLite reads a log up to the first frame whose checksum is wrong and drops the rest.
// That is right for a torn tail: a commit that was being written when the machine
// stopped, and that nobody was told of. But the same happens where an old frame is
// damaged, and then commits that were told of vanish without a word. Each commit is
// flushed before the next one is begun, so if a frame was written behind the end of the
// wrong frame's commit or of a later one, it is not a tail. The checksums tell: each
// goes on from that of the frame before. The salt alone doesn't, since frames of a
// commit that a crash cut off have the same as those that are written over them later.
// Format: SQLite's "Database File Format", section 4, "The Write-Ahead Log".
#ifndef EVENPACK_SERVER_STORE_WAL_CHECK_H_
#define EVENPACK_SERVER_STORE_WAL_CHECK_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace evenpack {

// `log`: the file's bytes. DATA_LOSS names the frame.
absl::Status CheckWal(std::string_view log);

// That of the database at `path`, where it has one.
absl::Status CheckWalOf(const std::string& path);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_STORE_WAL_CHECK_H_
