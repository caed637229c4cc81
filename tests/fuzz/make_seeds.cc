// make_seeds LENGTHS_FILE DIRECTORY: writes the seeds to DIRECTORY/TARGET/seed-NAME.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "client/cli/lengths_file.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/seeds.h"

int main(int count, char** arguments) {
  using namespace evenpack;
  if (count != 3) {
    std::fputs("usage: make_seeds LENGTHS_FILE DIRECTORY\n", stderr);
    return 2;
  }
  const auto lengths = fuzz::Required(ReadLengths(arguments[1]), "lengths");
  std::vector<fuzz::Seed> seeds;
  fuzz::AddJobSeeds(lengths, seeds);
  fuzz::AddTextSeeds(lengths, seeds);
  fuzz::AddWalSeeds(seeds);
  for (const fuzz::Seed& seed : seeds) {
    const std::filesystem::path folder =
        std::filesystem::path(arguments[2]) / seed.target;
    std::filesystem::create_directories(folder);
    const std::filesystem::path path = folder / ("seed-" + seed.name);
    fuzz::Require(!std::filesystem::exists(path), "a seed has its own name", seed.name);
    std::ofstream(path, std::ios::binary) << seed.bytes;
  }
  return 0;
}
