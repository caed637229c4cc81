// Changes messages of protobuf field by field: bytes changed blindly are refused by
// protobuf before they reach anything of ours.
#ifndef EVENPACK_TESTS_FUZZ_MESSAGE_MUTATOR_H_
#define EVENPACK_TESTS_FUZZ_MESSAGE_MUTATOR_H_

#include <cstddef>
#include <random>
#include <string>

namespace google::protobuf {
class Message;
}

namespace evenpack::fuzz {

using Random = std::minstd_rand;

// 0 to end - 1.
inline size_t Below(Random& random, size_t end) { return random() % end; }

// Changes one field somewhere in `message`.
void Mutate(google::protobuf::Message& message, Random& random);

// As libFuzzer changes bytes.
std::string ChangedBytes(std::string bytes);

}  // namespace evenpack::fuzz

#endif  // EVENPACK_TESTS_FUZZ_MESSAGE_MUTATOR_H_
