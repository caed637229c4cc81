// What the fuzz targets' corpora begin with: small inputs of every kind, made from the
// document lengths that come with the project, in the formats as they are now.
#ifndef EVENPACK_TESTS_FUZZ_SEEDS_H_
#define EVENPACK_TESTS_FUZZ_SEEDS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace evenpack::fuzz {

struct Seed {
  // Of the fuzz target.
  std::string target;
  // Unique for the target.
  std::string name;
  std::string bytes;
};

// Each appends to `seeds`; `lengths` are those of a file.

// For request, event, state and step: jobs of each policy, layout and merge.
void AddJobSeeds(const std::vector<uint32_t>& lengths, std::vector<Seed>& seeds);
// For lengths, index, jsonl, config, roles and spec.
void AddTextSeeds(const std::vector<uint32_t>& lengths, std::vector<Seed>& seeds);
// For wal: logs that SQLite wrote.
void AddWalSeeds(std::vector<Seed>& seeds);

}  // namespace evenpack::fuzz

#endif  // EVENPACK_TESTS_FUZZ_SEEDS_H_
