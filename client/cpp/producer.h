// Sends one stream's documents to the server, each exactly once.
//
//   std::unique_ptr<Producer> producer =
//       *client.OpenProducer({.job = "run-7", .stream = "web"});
//   DocumentColumns documents;
//   documents.length = {812, 40211, 97};
//   producer->Add(documents);      // blocks while the server is behind
//   producer->EndOfStream();       // returns when the server has everything
#ifndef EVENPACK_CLIENT_CPP_PRODUCER_H_
#define EVENPACK_CLIENT_CPP_PRODUCER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace evenpack::client {

struct ProducerOptions {
  std::string job = {};
  // One of the job's streams.
  std::string stream = {};
  // Number of the first document that will be added. Not set: the first that the server
  // doesn't have. Documents that it has already are compared with what it remembers of
  // them: other content ends the producer with ABORTED.
  std::optional<uint64_t> from_sequence = std::nullopt;
  // Documents of a message, at most; what is added is cut and put together to that.
  // Smaller messages are sent only while none is under way. 1 to 1,048,576.
  size_t batch_documents = 1024;
  // Documents that were added and that the server has not accepted yet, at most. At
  // least batch_documents.
  size_t max_unaccepted_documents = 65'536;
  // Bytes of token ids of a message, 4 a token, at most, where documents come with
  // them; a document that is longer goes alone. Those of a token_file don't travel and
  // don't count. 4 to 2^30.
  size_t batch_token_bytes = 1 << 20;
  // Bytes of token ids that were added and that the server has not accepted yet, at
  // most; while nothing is unaccepted, one document fits whatever its length. As many
  // again, and a message, are kept of documents that the server had before, until it
  // has compared them. At least batch_token_bytes.
  size_t max_unaccepted_token_bytes = 64 << 20;
};

// INVALID_ARGUMENT naming the first field that is out of its range.
absl::Status Validate(const ProducerOptions& options);

// Token ids in a file that the server reads itself, within its --payload-root.
struct TokenFileColumns {
  // Absolute, on the server's machine.
  std::string path;
  // Of a token id there, an unsigned little-endian integer: 2 or 4.
  uint32_t token_bytes = 4;
  // Where each document's tokens begin, in bytes: as many as documents.
  std::vector<uint64_t> offset;
};

// Documents in columns: entry i of each column belongs to the same document.
struct DocumentColumns {
  // Tokens of each, 1 to 2^31 - 1.
  std::vector<uint32_t> length;
  // Each of these is empty or as long as `length`. Defaults: the sequence number, the
  // length, 0.
  std::vector<uint64_t> id;
  // Tokens that count in the loss, 0 to the length.
  std::vector<uint32_t> loss_tokens;
  // A number for where the document comes from.
  std::vector<uint32_t> source;
  // For a job whose payload travels by value: the documents' token ids one after
  // another, as many as the lengths come to. Empty: none. A document that comes with
  // them has at most 2^28 tokens.
  std::vector<uint32_t> token_ids;
  // In place of token_ids, where only their place is to travel; with the same bound of
  // a document. No path and no offset: none.
  TokenFileColumns token_file;

  size_t size() const { return length.size(); }
};

// INVALID_ARGUMENT naming the first column that is out of shape or range.
absl::Status Validate(const DocumentColumns& documents);

// A lost call is opened again, with back-off, and goes on from what the server says is
// next. An error that can't be retried is final; every later call returns it:
//   ABORTED              the server has other content under a number
//   FAILED_PRECONDITION  the stream has ended before a document that was added; a
//                        token_file where the server has no --payload-root
//   INVALID_ARGUMENT     a document that the job doesn't take; one without token ids
//                        where they travel by value, one with them where they don't;
//                        a token_file that the server can't read
//   NOT_FOUND            no such job or stream, or the job was deleted
//   OUT_OF_RANGE         from_sequence is beyond what the server has: a gap
//   DATA_LOSS            the server asks for documents that it had accepted before
//   UNAVAILABLE          retried for as long as the back-off allows
//   CANCELLED            Cancel() was called
//
// Thread-safe; documents are numbered in the order in which calls of Add take effect.
// Destroying one cancels its call at once, also during an attempt to reconnect; what
// was not flushed may or may not have been accepted. No other thread may be in a call
// of the object then: Cancel() makes them return.
class Producer {
 public:
  virtual ~Producer() = default;

  // Adds documents behind those added before, and blocks while max_unaccepted_documents
  // or max_unaccepted_token_bytes wait. Takes them part by part where they are many;
  // next_sequence() says how many were taken if it fails. INVALID_ARGUMENT, with
  // nothing taken and the producer as good as before: see Validate(DocumentColumns).
  virtual absl::Status Add(const DocumentColumns& documents) = 0;
  // As Add, but all or nothing, and RESOURCE_EXHAUSTED where it would block.
  virtual absl::Status TryAdd(const DocumentColumns& documents) = 0;
  // Blocks until every document added so far is accepted.
  virtual absl::Status Flush() = 0;
  // Says that no document follows, and blocks until the server has noted that. Add then
  // returns FAILED_PRECONDITION; calling this again changes nothing.
  virtual absl::Status EndOfStream() = 0;

  // Number of the next document to be added.
  virtual uint64_t next_sequence() const = 0;
  // The server has accepted all documents below this number.
  virtual uint64_t accepted_sequence() const = 0;

  // Ends the producer: calls under way and later ones return CANCELLED.
  virtual void Cancel() = 0;
};

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_PRODUCER_H_
