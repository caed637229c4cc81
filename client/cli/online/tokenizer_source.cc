#include "client/cli/online/tokenizer_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/quoted_value.h"
#include "server/core/document/document.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

constexpr uint64_t kMostUint32 = std::numeric_limits<uint32_t>::max();
constexpr uint64_t kMostUint64 = std::numeric_limits<uint64_t>::max();

// A JSONL file that another process reads.
class TextFile {
 public:
  static absl::StatusOr<TextFile> Open(const std::string& path) {
    TextFile file(path == "-" ? STDIN_FILENO
                              : open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status {};
    int error = 0;
    if (file.descriptor_ < 0 || fstat(file.descriptor_, &status) != 0) error = errno;
    // Python does not start where its standard input is a folder.
    if (error == 0 && S_ISDIR(status.st_mode)) error = EISDIR;
    if (error != 0) {
      return InvalidField(
          "--jsonl", absl::StrCat(QuotedValue(path), " (", std::strerror(error), ")"),
          "a readable file with one JSON object a line, or - for standard input");
    }
    if (S_ISREG(status.st_mode)) file.size_ = static_cast<uint64_t>(status.st_size);
    return file;
  }
  ~TextFile() {
    // Only ever read from: a failed close loses nothing.
    if (descriptor_ > STDIN_FILENO) static_cast<void>(close(descriptor_));
  }
  TextFile(TextFile&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}
  TextFile& operator=(TextFile&&) = delete;

  int descriptor() const { return descriptor_; }
  // Of a regular file, in bytes; 0 for anything else.
  uint64_t size() const { return size_; }

 private:
  explicit TextFile(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
  uint64_t size_ = 0;
};

// Reads numbers of a record, and notes where one is not as it should be.
class RecordReader {
 public:
  explicit RecordReader(const nlohmann::json& record) : record_(record) {}

  std::optional<uint64_t> Optional(const char* name, uint64_t most) {
    const auto found = record_.find(name);
    if (found == record_.end()) return std::nullopt;
    const uint64_t number =
        found->is_number_unsigned() ? found->get<uint64_t>() : kMostUint64;
    if (!found->is_number_unsigned() || number > most) is_good_ = false;
    return number;
  }
  std::optional<uint32_t> Optional32(const char* name, uint64_t most) {
    const std::optional<uint64_t> number = Optional(name, most);
    if (!number.has_value()) return std::nullopt;
    return static_cast<uint32_t>(*number);
  }
  uint64_t Needed(const char* name, uint64_t least, uint64_t most) {
    const uint64_t number = Optional(name, most).value_or(0);
    if (!record_.contains(name) || number < least) is_good_ = false;
    return number;
  }
  bool is_good() const { return is_good_; }

 private:
  const nlohmann::json& record_;
  bool is_good_ = true;
};

class TokenizerSource : public DocumentSource {
 public:
  TokenizerSource(TextFile file, PythonTokenizer tokenizer, JsonlFields fields,
                  const Interrupt& interrupt)
      : file_(std::move(file)),
        tokenizer_(std::move(tokenizer)),
        fields_(std::move(fields)),
        interrupt_(interrupt) {}

  bool skips() const override { return true; }

  absl::StatusOr<uint64_t> Skip(uint64_t count) override {
    absl::StatusOr<std::unique_ptr<TokenizerProcess>> process = TokenizerProcess::Start(
        tokenizer_, fields_, file_.descriptor(), count, interrupt_);
    if (!process.ok()) return process.status();
    process_ = *std::move(process);
    const absl::StatusOr<nlohmann::json> record = process_->Next();
    if (!record.ok()) return record.status();
    RecordReader reader(*record);
    const uint64_t skipped = reader.Needed("skipped", 0, count);
    if (!reader.is_good()) return process_->Refuse();
    is_short_ = skipped < count;
    return skipped;
  }

  absl::StatusOr<std::optional<SourceDocument>> Next() override {
    if (process_ == nullptr) {
      if (const auto skipped = Skip(0); !skipped.ok()) return skipped.status();
    }
    const absl::StatusOr<nlohmann::json> record = process_->Next();
    if (!record.ok()) return record.status();
    RecordReader reader(*record);
    if (record->contains("documents")) {
      reader.Needed("documents", documents_, documents_);
      if (!reader.is_good()) return process_->Refuse();
      return std::nullopt;
    }
    SourceDocument document;
    document.length =
        static_cast<uint32_t>(reader.Needed("length", 1, kMaxDocumentLength));
    document.id = reader.Optional("id", kMostUint64);
    document.loss_tokens = reader.Optional32("loss_tokens", document.length);
    document.source = reader.Optional32("source", kMostUint32);
    position_ = reader.Needed("end", position_, kMostUint64);
    if (!reader.is_good() || is_short_) return process_->Refuse();
    ++documents_;
    return document;
  }

  bool IsReady() const override { return process_ != nullptr && process_->IsReady(); }
  Progress progress() const override { return {position_, file_.size()}; }

 private:
  const TextFile file_;
  const PythonTokenizer tokenizer_;
  const JsonlFields fields_;
  const Interrupt& interrupt_;
  std::unique_ptr<TokenizerProcess> process_;
  uint64_t position_ = 0;
  uint64_t documents_ = 0;
  bool is_short_ = false;  // fewer documents than were to be passed over
};

}  // namespace

absl::StatusOr<std::unique_ptr<DocumentSource>> OpenTokenizerSource(
    const std::string& path, PythonTokenizer tokenizer, JsonlFields fields,
    const Interrupt& interrupt) {
  absl::StatusOr<TextFile> file = TextFile::Open(path);
  if (!file.ok()) return file.status();
  return std::make_unique<TokenizerSource>(*std::move(file), std::move(tokenizer),
                                           std::move(fields), interrupt);
}

}  // namespace evenpack
