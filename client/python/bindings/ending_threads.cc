#include "client/python/bindings/ending_threads.h"

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <utility>
#include <vector>

#include "client/python/bindings/interpreter_lock.h"

namespace evenpack::python {
namespace {

namespace nb = nanobind;

struct EndingThreads {
  // A fork has none of its parent's.
  pid_t process = getpid();
  std::vector<std::future<void>> threads;
};

// The interpreter's lock guards it. Never destroyed: that would wait for the threads
// when there is no interpreter any more.
EndingThreads& OfThisProcess() {
  static EndingThreads* ending = nullptr;
  if (ending == nullptr || ending->process != getpid()) ending = new EndingThreads;
  return *ending;
}

// None before.
std::atomic<std::thread::id>& EndingThread() {
  static std::atomic<std::thread::id> thread;
  return thread;
}

void AwaitAll() {
  EndingThread() = std::this_thread::get_id();
  const std::vector<std::future<void>> threads =
      std::exchange(OfThisProcess().threads, {});
  const InterpreterReleased release;
  for (const std::future<void>& thread : threads) thread.wait();
}

}  // namespace

void EndInThread(std::function<void()> end) {
  std::vector<std::future<void>>& threads = OfThisProcess().threads;
  std::erase_if(threads, [](const std::future<void>& thread) {
    return thread.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  });
  threads.push_back(std::async(std::launch::async, std::move(end)));
}

bool EndsTheInterpreter() { return EndingThread() == std::this_thread::get_id(); }

void AwaitEndingThreadsAtExit() {
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&AwaitAll));
}

}  // namespace evenpack::python
