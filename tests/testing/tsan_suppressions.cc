// What the thread sanitizer is told to pass over, in every test that it sees.

// absl::Status counts its references by atomics of a library that is compiled without
// the sanitizer, so that it sees the last owner free what another one still held. So
// does Gloo, whose buffers and exceptions go from thread to thread. Of the first use of
// cpp-httplib's and spdlog's static variables it sees no order.
//
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" const char* __tsan_default_suppressions() {
  return "race:absl/status/status.h\nrace:Status::UnrefNonInlined\n"
         "race:status_internal::Payload\nrace:gloo\n"
         "called_from_lib:libcpp-httplib\ncalled_from_lib:libspdlog\n";
}
