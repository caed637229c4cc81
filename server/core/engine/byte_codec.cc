#include "server/core/engine/byte_codec.h"

namespace evenpack {

void ByteWriter::Word(uint64_t word, int bytes) {
  std::array<char, 8> words;
  const auto count = static_cast<size_t>(bytes);
  Put(word, count, words.data());
  bytes_.append(words.data(), count);
}

void ByteWriter::Text(std::string_view text) {
  Word(text.size(), 8);
  bytes_.append(text);
}

uint64_t ByteReader::Word(int bytes) {
  const auto count = static_cast<size_t>(bytes);
  if (!ok_ || bytes_.size() - at_ < count) {
    ok_ = false;
    return 0;
  }
  uint64_t word = 0;
  for (size_t i = 0; i < count; ++i) {
    word |= static_cast<uint64_t>(static_cast<unsigned char>(bytes_[at_ + i]))
            << (8 * i);
  }
  at_ += count;
  return word;
}

size_t ByteReader::Size() {
  const uint64_t size = Word(8);
  if (size > bytes_.size() - at_) {
    ok_ = false;
    return 0;
  }
  return static_cast<size_t>(size);
}

std::string_view ByteReader::Text() {
  const size_t size = Size();
  if (!ok_) return {};
  const std::string_view text = bytes_.substr(at_, size);
  at_ += size;
  return text;
}

}  // namespace evenpack
