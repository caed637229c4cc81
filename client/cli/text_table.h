// Columns of text, and bars, for people.
#ifndef EVENPACK_CLIENT_CLI_TEXT_TABLE_H_
#define EVENPACK_CLIENT_CLI_TEXT_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace evenpack {

// A value as a bar of '#': `width` of them at `most`, which is above 0, at least one
// for a value above 0.
std::string Bar(double value, double most, size_t width);

// 1234567 as "1,234,567".
std::string Grouped(uint64_t number);

// Nanoseconds in microseconds: 1234567 as "1234.6".
std::string Microseconds(int64_t ns);

class TextTable {
 public:
  enum class Align : uint8_t { kLeft, kRight };
  struct Column {
    std::string header;
    Align align = Align::kRight;
  };

  explicit TextTable(std::vector<Column> columns);

  // As many cells as columns.
  void AddRow(std::vector<std::string> cells);
  // Header and rows, two spaces between columns, none at a line's end.
  std::string ToString() const;

 private:
  std::vector<Column> columns_;
  // The first holds the headers.
  std::vector<std::vector<std::string>> rows_;
};

// For columns of names; numbers stand at the right.
inline constexpr auto kLeft = TextTable::Align::kLeft;

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_TEXT_TABLE_H_
