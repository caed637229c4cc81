// The index of an indexed dataset of Megatron-Core, which says how long its documents
// are. All numbers are little-endian:
//
//   at              bytes  what
//   0               9      "MMIDIDX\0\0"
//   9               8      version: 1
//   17              1      type of a token in the .bin file: 1 to 8
//   18              8      S, the count of sequences
//   26              8      D, the count of document indices
//   34              4 S    tokens of each sequence
//   34 + 4 S        8 S    where each is in the .bin file; not read here
//   34 + 12 S       8 D    document indices: 0, then how many sequences there are up to
//                          the end of each document; the last is S
//   34 + 12 S + 8 D S      none, or a mode of each sequence; not read here
//
// Source: megatron/core/datasets/indexed_dataset.py of megatron-core 0.16.1,
// _IndexWriter and _IndexReader.
#ifndef EVENPACK_CLIENT_CLI_MEGATRON_INDEX_H_
#define EVENPACK_CLIENT_CLI_MEGATRON_INDEX_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/binary_file.h"
#include "client/cli/number_column.h"

namespace evenpack {

// PREFIX.idx, or `prefix` itself where it ends so.
std::string MegatronIndexPath(const std::string& prefix);

// Reads one document after another: an index of any size in little memory. Not
// thread-safe.
class MegatronIndexReader {
 public:
  // INVALID_ARGUMENT naming the field, where it is in the file and what it holds: the
  // file can't be opened, is no such index, or has not the bytes that its counts ask
  // for.
  static absl::StatusOr<MegatronIndexReader> Open(const std::string& path);

  // Documents of the whole index, those without a token too.
  uint64_t documents() const { return indices_.count() - 1; }
  // The next document's tokens, those of its sequences together, 0 to
  // kMaxDocumentLength; none at the end. INVALID_ARGUMENT as Open: indices that do not
  // rise to S, a negative count of tokens, a document that is longer.
  absl::StatusOr<std::optional<uint32_t>> Next();
  // The latest document as a message about it names it: "corpus.idx: document 3". The
  // first is document 0.
  std::string DocumentName() const;

 private:
  MegatronIndexReader(const std::shared_ptr<const BinaryFile>& file, uint64_t sequences,
                      uint64_t indices);

  absl::Status ReadFirstIndex();
  // How many sequences there are up to the end of the next document.
  absl::StatusOr<uint64_t> NextEnd();
  absl::StatusOr<uint32_t> NextSequence();

  std::shared_ptr<const BinaryFile> file_;
  NumberColumn sequences_;
  NumberColumn indices_;
};

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_MEGATRON_INDEX_H_
