// Subscribers that all connect at once, each over a connection of its own, to a server
// that goes on with another job. Prints JSON.
//   storm_bench SERVER SUBSCRIBERS [FOLDER [SERVER_FLAG...]]
// FOLDER, filled by tests/testing/make_certificates.sh: connections are TLS 1.3 with
// certificates on both sides, none of which resumes a session; without, they are plain.
// The other job is fed and followed by a second process, which notes the times between
// its steps:
//   storm_bench other ADDRESS [FOLDER]
#include <grpcpp/grpcpp.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "tests/bench/service/bench_job.h"
#include "tests/bench/service/processor_seconds.h"
#include "tests/bench/service/producer.h"
#include "tests/bench/service/server_process.h"
#include "tests/bench/service/subscribers.h"

namespace evenpack::bench {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr uint32_t kContextParallel = 16;
constexpr char kOther[] = "other";
// More than one step of the other job.
constexpr size_t kDocuments = 64;
constexpr milliseconds kPause(20);

double MillisecondsBetween(TimePoint from, TimePoint to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  if (!file) EndWith({grpc::StatusCode::NOT_FOUND, "can't read " + path});
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Null where there is no folder.
std::shared_ptr<grpc::ChannelCredentials> CredentialsOf(const std::string& folder) {
  if (folder.empty()) return nullptr;
  return grpc::SslCredentials({ReadFile(folder + "/ca.pem"),
                               ReadFile(folder + "/client.key"),
                               ReadFile(folder + "/client.pem")});
}

std::vector<std::string> ServerFlags(const std::string& folder) {
  if (folder.empty()) return {};
  return {"--tls-certificate=" + folder + "/server.pem",
          "--tls-key=" + folder + "/server.key",
          "--tls-client-ca=" + folder + "/ca.pem"};
}

// What the second process does: until a line comes, and from there to the next, steps
// one after another. Prints their number and the largest gap of either time.
void FollowOther(const std::string& address, const std::string& folder) {
  const auto credentials = CredentialsOf(folder);
  const auto stub = Connect(address, credentials);
  CreateJob(*stub, {.name = kOther});
  const Subscribers subscriber({.address = address,
                                .acknowledge = true,
                                .job = kOther,
                                .credentials = credentials});
  subscriber.WaitUntilSubscribed();
  Producer producer(*stub, 0, kOther);
  producer.Send(kDocuments);
  subscriber.WaitFor(1);
  std::puts("ready");
  std::fflush(stdout);
  std::atomic<int> lines = 0;
  std::thread reader([&lines] {
    for (int c = 0; (c = std::getchar()) != EOF;) lines += c == '\n' ? 1 : 0;
    lines = 2;
  });
  std::array<std::pair<size_t, double>, 2> of_time = {};
  TimePoint last = subscriber.Arrival(0, 0);
  size_t seen = 1;
  for (int time = 0; (time = lines) < 2; std::this_thread::sleep_for(kPause)) {
    producer.Send(kDocuments);
    subscriber.WaitFor(seen + 1);
    const TimePoint arrival = subscriber.Arrival(0, seen++);
    auto& [steps, gap] = of_time[static_cast<size_t>(time)];
    ++steps;
    gap = std::max(gap, MillisecondsBetween(last, arrival));
    last = arrival;
  }
  reader.join();
  std::printf("%zu %.1f %zu %.1f\n", of_time[0].first, of_time[0].second,
              of_time[1].first, of_time[1].second);
}

// The second process, as the first sees it.
class OtherProcess {
 public:
  OtherProcess(const std::string& program, std::string address, std::string folder) {
    std::array<int, 2> input;
    std::array<int, 2> output;
    if (pipe(input.data()) != 0 || pipe(output.data()) != 0) std::abort();
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
    for (const int end : {input[0], input[1], output[0], output[1]}) {
      posix_spawn_file_actions_addclose(&actions, end);
    }
    std::string name = program;
    std::string mode = kOther;
    std::array<char*, 5> arguments = {name.data(), mode.data(), address.data(),
                                      folder.data(), nullptr};
    if (posix_spawn(&process_, program.c_str(), &actions, nullptr, arguments.data(),
                    environ) != 0) {
      std::abort();
    }
    posix_spawn_file_actions_destroy(&actions);
    close(input[0]);
    close(output[1]);
    input_ = fdopen(input[1], "w");
    output_ = fdopen(output[0], "r");
    std::array<char, 16> ready;
    if (std::fgets(ready.data(), ready.size(), output_) == nullptr) std::exit(1);
  }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;
  ~OtherProcess() {
    std::fclose(input_);
    std::fclose(output_);
    waitpid(process_, nullptr, 0);
  }

  void NextTime() {
    std::fputs("\n", input_);
    std::fflush(input_);
  }

  struct Figures {
    size_t calm_steps = 0;
    double calm_gap_ms = 0;
    size_t storm_steps = 0;
    double storm_gap_ms = 0;
  };
  Figures End() {
    NextTime();
    std::fclose(std::exchange(input_, std::tmpfile()));
    Figures figures;
    std::array<char, 128> line;
    if (std::fgets(line.data(), line.size(), output_) == nullptr) std::exit(1);
    std::istringstream text(line.data());
    text >> figures.calm_steps >> figures.calm_gap_ms >> figures.storm_steps >>
        figures.storm_gap_ms;
    if (text.fail()) std::exit(1);
    return figures;
  }

 private:
  pid_t process_ = 0;
  FILE* input_ = nullptr;
  FILE* output_ = nullptr;
};

void Storm(const std::string& program, const std::string& server_program, size_t count,
           const std::string& folder, const std::vector<std::string>& more_flags) {
  const auto ranks = static_cast<uint32_t>(count);
  const uint32_t context_parallel = std::min(ranks, kContextParallel);
  const uint32_t data_parallel = ranks / context_parallel;
  std::vector<std::string> flags = ServerFlags(folder);
  flags.insert(flags.end(), more_flags.begin(), more_flags.end());
  const ServerProcess server(server_program, "memory", flags);
  const auto credentials = CredentialsOf(folder);
  const auto stub = Connect(server.address(), credentials);
  CreateJob(*stub,
            {.data_parallel = data_parallel, .context_parallel = context_parallel});
  {
    Producer producer(*stub);
    // A micro-batch has 33 of them on average.
    for (size_t sent = 0; sent < 64 * count / context_parallel; sent += 4096) {
      producer.Send(4096);
    }
  }
  OtherProcess other(program, server.address(), folder);
  std::this_thread::sleep_for(std::chrono::seconds(2));
  other.NextTime();
  const ServerProcess::Usage before = server.Now();
  const TimePoint start = Clock::now();
  const Subscribers subscribers({.address = server.address(),
                                 .count = count,
                                 .connections = count,
                                 .data_parallel = data_parallel,
                                 .context_parallel = context_parallel,
                                 .credentials = credentials});
  subscribers.WaitUntilSubscribed();
  const double subscribed = MillisecondsBetween(start, Clock::now()) / 1000;
  subscribers.WaitFor(1);
  const double seconds = MillisecondsBetween(start, Clock::now()) / 1000;
  const ServerProcess::Usage after = server.Now();
  const OtherProcess::Figures figures = other.End();
  std::printf(
      "{\"bench\": \"storm\", \"tls\": %s, \"subscribers\": %zu, "
      "\"subscribed_seconds\": %.2f, \"seconds\": %.2f, "
      "\"server_processor_seconds\": %.2f, \"client_processor_seconds\": %.2f, "
      "\"server_mib_before\": %.0f, \"server_mib\": %.0f, "
      "\"server_peak_mib\": %.0f, \"other_steps_before\": %zu, "
      "\"other_gap_ms_before\": %.1f, \"other_steps\": %zu, "
      "\"other_gap_ms\": %.1f}\n",
      folder.empty() ? "false" : "true", count, subscribed, seconds,
      after.processor_seconds - before.processor_seconds, ProcessorSeconds(),
      before.resident_mib, after.resident_mib, after.peak_mib, figures.calm_steps,
      figures.calm_gap_ms, figures.storm_steps, figures.storm_gap_ms);
}

}  // namespace
}  // namespace evenpack::bench

int main(int argc, char** argv) {
  // As evenpack-server does.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  const std::vector<std::string> arguments(argv, argv + argc);
  const std::string folder = argc > 3 ? arguments[3] : "";
  if (argc >= 3 && arguments[1] == evenpack::bench::kOther) {
    evenpack::bench::FollowOther(arguments[2], folder);
  } else if (argc >= 3) {
    evenpack::bench::Storm(
        "/proc/self/exe", arguments[1], std::strtoul(argv[2], nullptr, 10), folder,
        {arguments.begin() + std::min<ptrdiff_t>(4, argc), arguments.end()});
  } else {
    std::fprintf(
        stderr,
        "storm_bench: accepted: SERVER SUBSCRIBERS [FOLDER [SERVER_FLAG...]]\n");
    return 2;
  }
  return 0;
}
