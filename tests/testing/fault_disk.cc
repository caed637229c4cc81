#include "tests/testing/fault_disk.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <utility>
#include <vector>

#include "tests/testing/file_bytes.h"

namespace evenpack::testing {
namespace {

struct UnflushedWrite {
  size_t offset = 0;
  // None: the file was cut at the offset.
  std::optional<std::string> bytes;
};

struct FileHistory {
  // None before the first flush.
  std::optional<std::string> flushed;
  std::vector<UnflushedWrite> since;
};

struct Disk {
  sqlite3_vfs* below = nullptr;
  sqlite3_vfs vfs = {};
  std::optional<uint64_t> room;
  bool read_only = false;
  uint64_t failing_flushes = 0;
  std::map<std::string, FileHistory> files;
};

Disk& TheDisk() {
  static Disk disk;
  return disk;
}

// Behind it lies the file of the VFS below.
struct FaultFile {
  sqlite3_file base;
  FileHistory* history;

  sqlite3_file* below() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

FaultFile& Of(sqlite3_file* file) { return *reinterpret_cast<FaultFile*>(file); }
sqlite3_file* Below(sqlite3_file* file) { return Of(file).below(); }

int Close(sqlite3_file* file) { return Below(file)->pMethods->xClose(Below(file)); }

int Read(sqlite3_file* file, void* bytes, int size, sqlite3_int64 offset) {
  return Below(file)->pMethods->xRead(Below(file), bytes, size, offset);
}

int Write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
  Disk& disk = TheDisk();
  const auto count = static_cast<uint64_t>(size);
  if (disk.read_only) return SQLITE_IOERR_WRITE;
  if (disk.room.has_value()) {
    if (*disk.room < count) return SQLITE_FULL;
    *disk.room -= count;
  }
  Of(file).history->since.push_back(
      {static_cast<size_t>(offset),
       std::string(static_cast<const char*>(bytes), count)});
  return Below(file)->pMethods->xWrite(Below(file), bytes, size, offset);
}

int Truncate(sqlite3_file* file, sqlite3_int64 size) {
  if (TheDisk().read_only) return SQLITE_IOERR_TRUNCATE;
  Of(file).history->since.push_back({static_cast<size_t>(size), std::nullopt});
  return Below(file)->pMethods->xTruncate(Below(file), size);
}

void Apply(const UnflushedWrite& write, size_t count, std::string& bytes) {
  if (!write.bytes.has_value()) {
    if (bytes.size() > write.offset) bytes.resize(write.offset);
    return;
  }
  if (bytes.size() < write.offset + count) bytes.resize(write.offset + count);
  write.bytes->copy(bytes.data() + write.offset, count);
}

size_t SizeOf(const UnflushedWrite& write) {
  return write.bytes.has_value() ? write.bytes->size() : 0;
}

int Sync(sqlite3_file* file, int) {
  if (TheDisk().failing_flushes > 0) {
    --TheDisk().failing_flushes;
    return SQLITE_IOERR_FSYNC;
  }
  FileHistory& history = *Of(file).history;
  std::string bytes = std::move(history.flushed).value_or("");
  for (const UnflushedWrite& write : history.since) Apply(write, SizeOf(write), bytes);
  history.flushed = std::move(bytes);
  history.since.clear();
  // The real one would only take time.
  return SQLITE_OK;
}

int FileSize(sqlite3_file* file, sqlite3_int64* size) {
  return Below(file)->pMethods->xFileSize(Below(file), size);
}
int Lock(sqlite3_file* file, int lock) {
  return Below(file)->pMethods->xLock(Below(file), lock);
}
int Unlock(sqlite3_file* file, int lock) {
  return Below(file)->pMethods->xUnlock(Below(file), lock);
}
int CheckReservedLock(sqlite3_file* file, int* locked) {
  return Below(file)->pMethods->xCheckReservedLock(Below(file), locked);
}
int FileControl(sqlite3_file* file, int operation, void* argument) {
  return Below(file)->pMethods->xFileControl(Below(file), operation, argument);
}
int SectorSize(sqlite3_file* file) {
  return Below(file)->pMethods->xSectorSize(Below(file));
}
// What SQLite takes for granted on Linux, and nothing more: a torn write leaves the
// bytes around it alone.
int DeviceCharacteristics(sqlite3_file*) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; }

const sqlite3_io_methods kMethods = {
    .iVersion = 1,
    .xClose = Close,
    .xRead = Read,
    .xWrite = Write,
    .xTruncate = Truncate,
    .xSync = Sync,
    .xFileSize = FileSize,
    .xLock = Lock,
    .xUnlock = Unlock,
    .xCheckReservedLock = CheckReservedLock,
    .xFileControl = FileControl,
    .xSectorSize = SectorSize,
    .xDeviceCharacteristics = DeviceCharacteristics,
    .xShmMap = nullptr,
    .xShmLock = nullptr,
    .xShmBarrier = nullptr,
    .xShmUnmap = nullptr,
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

// What lies in a file when it is opened counts as flushed.
int TakeContent(FaultFile& opened) {
  FileHistory& history = *opened.history;
  if (history.flushed.has_value() || !history.since.empty()) return SQLITE_OK;
  sqlite3_file* const below = opened.below();
  sqlite3_int64 size = 0;
  const int code = below->pMethods->xFileSize(below, &size);
  if (code != SQLITE_OK || size == 0) return code;
  history.flushed.emplace(static_cast<size_t>(size), '\0');
  return below->pMethods->xRead(below, history.flushed->data(), static_cast<int>(size),
                                0);
}

int Open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags,
         int* out_flags) {
  Disk& disk = TheDisk();
  FaultFile& opened = Of(file);
  opened.base.pMethods = nullptr;
  if (disk.read_only && (flags & SQLITE_OPEN_READWRITE) != 0) {
    flags &= ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    flags |= SQLITE_OPEN_READONLY;
  }
  const int code =
      disk.below->xOpen(disk.below, name, opened.below(), flags, out_flags);
  if (code != SQLITE_OK) return code;
  opened.base.pMethods = &kMethods;
  opened.history = &disk.files[name == nullptr ? "" : name];
  return TakeContent(opened);
}

int Delete(sqlite3_vfs*, const char* name, int) {
  Disk& disk = TheDisk();
  if (disk.read_only) return SQLITE_IOERR_DELETE;
  disk.files.erase(name);
  return disk.below->xDelete(disk.below, name, 0);
}

// In place of pread(2).
ssize_t RefuseRead(int file, void*, size_t, off_t offset) {
  struct stat known = {};
  // Nothing is behind the end, and nothing is asked of the disk.
  if (fstat(file, &known) == 0 && offset >= known.st_size) return 0;
  errno = EIO;
  return -1;
}

}  // namespace

FaultDisk::FaultDisk() {
  Disk& disk = TheDisk();
  disk.below = sqlite3_vfs_find("unix");
  disk.room.reset();
  disk.read_only = false;
  disk.failing_flushes = 0;
  disk.files.clear();
  disk.vfs = *disk.below;
  disk.vfs.zName = "fault";
  disk.vfs.pNext = nullptr;
  disk.vfs.szOsFile = static_cast<int>(sizeof(FaultFile)) + disk.below->szOsFile;
  disk.vfs.xOpen = Open;
  disk.vfs.xDelete = Delete;
  sqlite3_vfs_register(&disk.vfs, 1);
}

FaultDisk::~FaultDisk() {
  SetReadable(true);
  sqlite3_vfs_unregister(&TheDisk().vfs);
  sqlite3_vfs_register(TheDisk().below, 1);
}

void FaultDisk::SetRoom(std::optional<uint64_t> bytes) { TheDisk().room = bytes; }

void FaultDisk::SetReadOnly(bool read_only) { TheDisk().read_only = read_only; }

void FaultDisk::SetReadable(bool readable) {
  sqlite3_vfs* const below = TheDisk().below;
  const auto refuse = reinterpret_cast<sqlite3_syscall_ptr>(&RefuseRead);
  // Whichever of them SQLite was built with.
  for (const char* const name : {"pread", "pread64"}) {
    if (below->xGetSystemCall(below, name) == nullptr) continue;
    below->xSetSystemCall(below, name, readable ? nullptr : refuse);
  }
}

void FaultDisk::FailFlushes(uint64_t count) { TheDisk().failing_flushes = count; }

void FaultDisk::TakeAsUnflushed(const std::string& path) {
  TheDisk().files[path].since.push_back({0, FileBytes(path)});
}

std::map<std::string, std::string> FaultDisk::AfterCrash(
    std::mt19937_64& random) const {
  std::map<std::string, std::string> left;
  for (const auto& [path, history] : TheDisk().files) {
    std::string bytes = history.flushed.value_or("");
    std::vector<UnflushedWrite> writes = history.since;
    std::shuffle(writes.begin(), writes.end(), random);
    writes.resize(writes.empty() ? 0 : random() % (writes.size() + 1));
    for (const UnflushedWrite& write : writes) {
      const size_t size = SizeOf(write);
      Apply(write, random() % 2 == 0 ? size : random() % (size + 1), bytes);
    }
    left[path] = std::move(bytes);
  }
  return left;
}

}  // namespace evenpack::testing
