#include "client/cli/text_table.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/runtime/utf8_text.h"

namespace evenpack {

std::string Bar(double value, double most, size_t width) {
  if (!(value > 0)) return "";
  const double share = std::min(1.0, value / most);
  const auto length = std::lround(share * static_cast<double>(width));
  std::string bar;
  bar.assign(static_cast<size_t>(std::max(1L, length)), '#');
  return bar;
}

std::string Grouped(uint64_t number) {
  std::string text = absl::StrCat(number);
  for (size_t end = text.size(); end > 3; end -= 3) text.insert(end - 3, 1, ',');
  return text;
}

std::string Microseconds(int64_t ns) {
  return absl::StrFormat("%.1f", static_cast<double>(ns) / 1000);
}

TextTable::TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {
  std::vector<std::string> headers;
  headers.reserve(columns_.size());
  for (const Column& column : columns_) headers.push_back(column.header);
  rows_.push_back(std::move(headers));
}

void TextTable::AddRow(std::vector<std::string> cells) {
  rows_.push_back(std::move(cells));
}

std::string TextTable::ToString() const {
  std::vector<size_t> widths(columns_.size(), 0);
  for (const std::vector<std::string>& row : rows_) {
    for (size_t i = 0; i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], ColumnsOf(row[i]));
    }
  }
  std::string text;
  for (const std::vector<std::string>& row : rows_) {
    std::string line;
    for (size_t i = 0; i < widths.size(); ++i) {
      const std::string blanks(widths[i] - ColumnsOf(row[i]), ' ');
      if (i > 0) line += "  ";
      line += columns_[i].align == Align::kLeft ? row[i] + blanks : blanks + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace evenpack
