#include "server/runtime/thread_check.h"

#include <exception>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/runtime/mutex.h"

namespace evenpack {

absl::Status CheckThreads(size_t count) {
  Mutex mutex;
  CondVar changed;
  bool checked = false;
  std::vector<std::thread> threads;
  std::string refusal;
  try {
    threads.reserve(count);
    while (threads.size() < count) {
      threads.emplace_back([&mutex, &changed, &checked] {
        MutexLock lock(mutex);
        while (!checked) changed.Wait(mutex);
      });
    }
  } catch (const std::system_error& error) {
    refusal = error.code().message();
  } catch (const std::exception&) {
    refusal = "no memory";
  }
  {
    MutexLock lock(mutex);
    checked = true;
  }
  changed.SignalAll();
  for (std::thread& thread : threads) thread.join();
  if (refusal.empty()) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "threads: ", threads.size(), " of ", count, " could be made: ", refusal,
      "; accepted: limits of processes (ulimit -u, a container's pids) and of memory "
      "(ulimit -v) that leave room for all"));
}

}  // namespace evenpack
