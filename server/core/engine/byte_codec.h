// Values to bytes and back: fixed-width little-endian integers, containers behind their
// length. One list of fields serves both directions:
//
//   template <typename Coder>
//   void Code(Coder& coder, MaybeConst<Point> auto& point) {
//     coder.All(point.x, point.y);
//   }
#ifndef EVENPACK_SERVER_CORE_ENGINE_BYTE_CODEC_H_
#define EVENPACK_SERVER_CORE_ENGINE_BYTE_CODEC_H_

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace evenpack {

template <typename T, typename Plain>
concept MaybeConst = std::same_as<std::remove_const_t<T>, Plain>;

// A value of fixed width: an integer, a boolean or an enum.
template <typename T>
inline constexpr bool kIsWord = std::is_integral_v<T> || std::is_enum_v<T>;

// Appends to a string.
class ByteWriter {
 public:
  static constexpr bool kReads = false;

  // Room for so many bytes.
  void Reserve(size_t bytes) { bytes_.reserve(bytes); }
  void Word(uint64_t word, int bytes);
  void Text(std::string_view text);
  template <typename... Fields>
  void All(const Fields&... fields) {
    if constexpr (sizeof...(Fields) > 1 && (kIsWord<Fields> && ...)) {
      // As below, but that the string grows once.
      std::array<char, (sizeof(Fields) + ...)> words;
      char* at = words.data();
      ((at = Put(static_cast<uint64_t>(fields), sizeof(Fields), at)), ...);
      bytes_.append(words.data(), words.size());
    } else {
      (Code(*this, fields), ...);
    }
  }
  // The elements of a list of words.
  template <typename List>
  void Elements(const List& values) {
    using Element = typename List::value_type;
    const size_t before = bytes_.size();
    bytes_.resize(before + values.size() * sizeof(Element));
    char* at = bytes_.data() + before;
    for (const Element& value : values) {
      at = Put(static_cast<uint64_t>(value), sizeof(Element), at);
    }
  }
  // A field that a later version of a format added.
  template <typename Field>
  void Since(uint32_t /*version*/, const Field& field) {
    All(field);
  }
  const std::string& bytes() const& { return bytes_; }
  std::string bytes() && { return std::move(bytes_); }

 private:
  static char* Put(uint64_t word, size_t bytes, char* at) {
    if constexpr (std::endian::native == std::endian::little) {
      std::memcpy(at, &word, bytes);
    } else {
      for (size_t i = 0; i < bytes; ++i) {
        at[i] = static_cast<char>((word >> (8 * i)) & 0xff);
      }
    }
    return at + bytes;
  }

  std::string bytes_;
};

// Reads what a ByteWriter wrote. Reading on after an error, or past the end, gives
// zeros and leaves ok() false; no length that it reads makes it allocate more than the
// bytes that are left could fill.
class ByteReader {
 public:
  static constexpr bool kReads = true;

  // `bytes` must outlive the reader.
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  uint64_t Word(int bytes);
  std::string_view Text();
  // A container's length; each element takes at least one byte.
  size_t Size();
  template <typename... Fields>
  void All(Fields&... fields) {
    (Code(*this, fields), ...);
  }
  // Of the format that the bytes are of, for Since(); 0 until it is set.
  void set_version(uint32_t version) { version_ = version; }
  // Keeps its value where the bytes are of a version before.
  template <typename Field>
  void Since(uint32_t version, Field& field) {
    if (version_ >= version) All(field);
  }
  void Fail() { ok_ = false; }
  bool ok() const { return ok_; }
  bool AtEnd() const { return at_ == bytes_.size(); }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
  uint32_t version_ = 0;
  bool ok_ = true;
};

template <typename Coder, typename T>
requires std::unsigned_integral<T> || std::signed_integral<T>
void Code(Coder& coder, T& value) {
  constexpr int kBytes = sizeof(T);
  if constexpr (Coder::kReads) {
    const uint64_t word = coder.Word(kBytes);
    if (std::same_as<T, bool> && word > 1) coder.Fail();
    value = static_cast<T>(word);
  } else {
    coder.Word(static_cast<uint64_t>(value), kBytes);
  }
}

template <typename Coder, typename T>
requires std::is_enum_v<T>
void Code(Coder& coder, T& value) {
  if constexpr (Coder::kReads) {
    value = static_cast<T>(coder.Word(sizeof(T)));
  } else {
    coder.Word(static_cast<uint64_t>(value), sizeof(T));
  }
}

template <typename Coder>
void Code(Coder& coder, MaybeConst<double> auto& value) {
  if constexpr (Coder::kReads) {
    value = std::bit_cast<double>(coder.Word(8));
  } else {
    coder.Word(std::bit_cast<uint64_t>(value), 8);
  }
}

template <typename Coder>
void Code(Coder& coder, MaybeConst<std::string> auto& text) {
  if constexpr (Coder::kReads) {
    text = std::string(coder.Text());
  } else {
    coder.Text(text);
  }
}

template <typename T>
inline constexpr bool kIsList = false;
template <typename T>
inline constexpr bool kIsList<std::vector<T>> = true;
template <typename T>
inline constexpr bool kIsList<std::deque<T>> = true;

template <typename Coder, typename List>
requires kIsList<std::remove_const_t<List>>
void Code(Coder& coder, List& values) {
  if constexpr (Coder::kReads) {
    const size_t size = coder.Size();
    for (size_t i = 0; i < size && coder.ok(); ++i) Code(coder, values.emplace_back());
  } else {
    coder.Word(values.size(), 8);
    if constexpr (kIsWord<typename List::value_type>) {
      coder.Elements(values);
    } else {
      for (const auto& value : values) Code(coder, value);
    }
  }
}

template <typename T>
void Code(ByteWriter& coder, const std::optional<T>& value) {
  coder.All(value.has_value());
  if (value.has_value()) coder.All(*value);
}
template <typename T>
void Code(ByteReader& coder, std::optional<T>& value) {
  bool has_value = false;
  coder.All(has_value);
  if (has_value) coder.All(value.emplace());
}

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_ENGINE_BYTE_CODEC_H_
