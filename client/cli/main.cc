#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "client/cli/program.h"

namespace {

// False where it can't be written.
bool Write(const std::string& text, std::FILE* file) {
  return std::fwrite(text.data(), 1, text.size(), file) == text.size() &&
         std::fflush(file) == 0;
}

int Report(const evenpack::ProgramResult& result) {
  if (!Write(result.err, stderr)) return evenpack::kExitInternalError;
  if (Write(result.out, stdout)) return result.exit_code;
  // Whoever reads has enough, as in `evenpackctl ... | head`.
  if (errno == EPIPE) return result.exit_code;
  Write(std::string("evenpackctl: standard output: ") + std::strerror(errno) + "\n",
        stderr);
  return evenpack::kExitInternalError;
}

}  // namespace

int main(int argc, char** argv) {
  if (std::signal(SIGPIPE, SIG_IGN) == SIG_ERR) return evenpack::kExitInternalError;
  try {
    return Report(
        evenpack::RunProgram(std::vector<std::string>(argv + 1, argv + argc)));
  } catch (const std::exception& error) {
    // Nothing of this project throws; the standard library does when memory ends.
    Write(std::string("evenpackctl: internal error: ") + error.what() + "\n", stderr);
  }
  return evenpack::kExitInternalError;
}
