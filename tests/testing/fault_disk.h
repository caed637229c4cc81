// A disk for SQLite that fills up, and of which a test can tell what a crash of the
// machine would leave: a VFS over SQLite's own.
#ifndef EVENPACK_TESTS_TESTING_FAULT_DISK_H_
#define EVENPACK_TESTS_TESTING_FAULT_DISK_H_

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>

namespace evenpack::testing {

// While it lives, databases that are opened lie on it. One at a time, and one thread.
class FaultDisk {
 public:
  static constexpr uint64_t kAll = ~uint64_t{0};

  FaultDisk();
  ~FaultDisk();
  FaultDisk(const FaultDisk&) = delete;
  FaultDisk& operator=(const FaultDisk&) = delete;

  // Writes beyond so many bytes fail as on a full disk; without a number none does.
  void SetRoom(std::optional<uint64_t> bytes);
  // As a disk that the kernel remounts: files that are open can't be written, those
  // that are opened then are open for reading alone.
  void SetReadOnly(bool read_only);

  // While it can't be read, the system refuses what is not in SQLite's memory: EIO.
  void SetReadable(bool readable);

  // So many flushes from now on fail, and flush nothing.
  void FailFlushes(uint64_t count = kAll);

  // The file is as a process left it that was killed before it flushed anything.
  void TakeAsUnflushed(const std::string& path);

  // The files' bytes by path, as a crash now may leave them: what was flushed, and of
  // the writes since any number, in any order, each whole or torn.
  std::map<std::string, std::string> AfterCrash(std::mt19937_64& random) const;
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_TESTING_FAULT_DISK_H_
