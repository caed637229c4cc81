// Whether a SQLite file and its write-ahead log are still where they were opened: what
// is committed to a file that was removed is acknowledged and gone.
#ifndef EVENPACK_SERVER_STORE_FILE_PLACES_H_
#define EVENPACK_SERVER_STORE_FILE_PLACES_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"

namespace evenpack {

// The file that SQLite opens at `path`, and beside which its log lies: what links at
// the path's end lead to. `path` itself where they lead nowhere but to themselves.
std::string FollowLinks(const std::string& path);

// For one thread at a time.
class FilePlaces {
 public:
  // Of the file at `path`, which is no link.
  explicit FilePlaces(std::string path)
      : path_(std::move(path)), log_path_(path_ + "-wal") {}

  // The log is the file that is there now, or there is none.
  void NoteLog() { log_ = IdentityAt(log_path_); }

  // `moved`: whether the file itself isn't there. UNAVAILABLE: it or the log isn't; the
  // server's log says so once, and when they are back.
  absl::Status Check(bool moved);

  // Whether the last check missed the log alone.
  bool log_is_gone() const { return gone_ == log_path_; }

 private:
  struct Identity {
    dev_t device = 0;
    ino_t number = 0;

    bool operator==(const Identity&) const = default;
  };

  // None where no file is there, or it can't be looked at.
  static std::optional<Identity> IdentityAt(const std::string& path);

  const std::string path_;
  const std::string log_path_;
  std::optional<Identity> log_;
  // What the last check missed; empty: nothing.
  std::string gone_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_STORE_FILE_PLACES_H_
