// A document, or a piece of one that had to be cut: the unit that is packed.
#ifndef EVENPACK_SERVER_CORE_DOCUMENT_DOCUMENT_H_
#define EVENPACK_SERVER_CORE_DOCUMENT_DOCUMENT_H_

#include <cstdint>
#include <span>
#include <vector>

namespace evenpack {

// Longest document, in tokens.
inline constexpr uint32_t kMaxDocumentLength = 2147483647;

// Identity is (stream, sequence); with `offset` it also names a piece. A piece attends
// only to itself, like a whole document.
struct Document {
  // Per stream, from 0, without gaps.
  uint64_t sequence = 0;
  // The producer's label; need not be unique.
  uint64_t id = 0;
  // Position in the job's merged order of documents, from 0. Pieces share it.
  uint64_t order = 0;
  // The global batch that admitted the document, from 0.
  uint64_t batch = 0;
  // Index into the job's streams.
  uint32_t stream = 0;
  // Tokens of this piece, 1 to kMaxDocumentLength.
  uint32_t length = 0;
  // First token of this piece within its document; 0 for a whole one.
  uint32_t offset = 0;
  // Tokens of the document that this is a piece of; `length` for a whole one.
  uint32_t document_length = 0;
  // Tokens of this piece that count in the loss, 0 to `length`.
  uint32_t loss_tokens = 0;
  // The producer's number for where the document comes from.
  uint32_t source = 0;

  friend bool operator==(const Document&, const Document&) = default;
};

// Whether a was admitted before b; pieces of one document by their offset.
inline bool IsOlder(const Document& a, const Document& b) {
  return a.order != b.order ? a.order < b.order : a.offset < b.offset;
}

// True for a whole document and for the piece that holds a document's last token.
inline bool EndsDocument(const Document& piece) {
  return piece.offset + piece.length == piece.document_length;
}

// Whether the numbers of `piece` are in their ranges and agree with each other.
inline bool IsPiece(const Document& piece) {
  return piece.length >= 1 && piece.length <= piece.document_length &&
         piece.document_length <= kMaxDocumentLength &&
         piece.offset <= piece.document_length - piece.length &&
         piece.loss_tokens <= piece.length;
}

// Of each document, in order.
std::vector<uint32_t> LengthsOf(std::span<const Document> documents);

// Cuts the first `length` tokens off `rest`, which keeps the others. 0 < length <
// rest.length. Loss tokens are shared out in proportion and none is lost.
Document CutFront(Document& rest, uint32_t length);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_DOCUMENT_DOCUMENT_H_
