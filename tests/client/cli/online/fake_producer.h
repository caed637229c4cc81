// A producer whose server is a list.
#ifndef EVENPACK_TESTS_CLIENT_CLI_ONLINE_FAKE_PRODUCER_H_
#define EVENPACK_TESTS_CLIENT_CLI_ONLINE_FAKE_PRODUCER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "client/cpp/producer.h"

namespace evenpack::testing {

// Documents are accepted when they are flushed, or when others are added behind them.
class FakeProducer : public client::Producer {
 public:
  explicit FakeProducer(uint64_t from_sequence)
      : next_(from_sequence), accepted_(from_sequence) {}

  absl::Status Add(const client::DocumentColumns& documents) override {
    accepted_ = std::max(accepted_, next_);
    if (next_ >= refused_) return error_;
    columns_.push_back(documents);
    next_ += documents.size();
    return absl::OkStatus();
  }
  absl::Status TryAdd(const client::DocumentColumns& documents) override {
    return Add(documents);
  }
  absl::Status Flush() override {
    if (!flush_error_.ok()) return flush_error_;
    accepted_ = std::max(accepted_, next_);
    return absl::OkStatus();
  }
  absl::Status EndOfStream() override {
    absl::Status status = Flush();
    ended_ = status.ok();
    return status;
  }
  uint64_t next_sequence() const override { return next_; }
  uint64_t accepted_sequence() const override { return std::min(accepted_, refused_); }
  void Cancel() override { refused_ = 0; }

  // The server has the stream's documents below `sequence`.
  void HasAlready(uint64_t sequence) { accepted_ = sequence; }
  void RefuseFrom(uint64_t sequence, const absl::Status& error) {
    refused_ = sequence;
    error_ = error;
  }
  void FailFlush(const absl::Status& error) { flush_error_ = error; }

  const std::vector<client::DocumentColumns>& columns() const { return columns_; }
  std::vector<size_t> batches() const {
    std::vector<size_t> sizes;
    for (const auto& columns : columns_) sizes.push_back(columns.size());
    return sizes;
  }
  std::vector<uint32_t> lengths() const {
    std::vector<uint32_t> all;
    for (const auto& columns : columns_) {
      all.insert(all.end(), columns.length.begin(), columns.length.end());
    }
    return all;
  }
  bool ended() const { return ended_; }

 private:
  uint64_t next_;
  uint64_t accepted_;
  uint64_t refused_ = std::numeric_limits<uint64_t>::max();
  absl::Status error_ = absl::CancelledError("cancelled");
  absl::Status flush_error_;
  std::vector<client::DocumentColumns> columns_;
  bool ended_ = false;
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_CLIENT_CLI_ONLINE_FAKE_PRODUCER_H_
