// What tests ask of libfake_nccl.so, a double of NCCL over libfake_cuda.so: ranks are
// threads of the process, which meet by their id. Code under test loads it as it loads
// NCCL, by EVENPACK_FAKE_NCCL, its path.
//
// It notes misuse with the double of the driver (fakeCudaMisuse): a handle that was
// aborted or destroyed, one that ends while its device is not current, two calls with
// one at once, a call while another is in progress, a rank that joins twice, counts of
// bytes that differ, tensors that are not in the device's memory, a stream that is
// none.
#ifndef EVENPACK_TESTS_GPU_WORKER_NCCL_FAKE_NCCL_H_
#define EVENPACK_TESTS_GPU_WORKER_NCCL_FAKE_NCCL_H_

#include <cstddef>

extern "C" {
// Handles that are neither aborted nor destroyed.
size_t fakeNcclLive();
// How often one was aborted, ever.
size_t fakeNcclAborts();
// Forgets settings.
void fakeNcclReset();
// At first 22809.
void fakeNcclSetVersion(int version);
// Whether an abort does not end, until it is called with false.
void fakeNcclHoldAborts(bool held);
// How often ncclCommGetAsyncError answers that a call is in progress; at first 0.
void fakeNcclSetPolls(int polls);
// The rank's connections have an asynchronous error, a ncclResult_t, from now on.
void fakeNcclRaise(int rank, int error);
// The rank's next connection has that error before it is connected.
void fakeNcclFailInit(int rank, int error);
// The rank's exchanges stand still until it is called with false, or they are aborted.
void fakeNcclStall(int rank, bool stalls);
// What the rank's connections send from now on stays with them, as with a thread of
// NCCL's for a network, though the rank's stream is done with it: until they are
// finalized, or aborted, which loses it.
void fakeNcclBuffer(int rank);
// Whether a rank is destroyed or aborted only once all ranks of its group are being, as
// where they are processes of one host.
void fakeNcclWaitForHost(bool waits);
// Calls that destroy or abort, and are under way.
size_t fakeNcclEnding();
// Whether peers of a rank that aborts have ncclRemoteError, as over a network, or hear
// nothing, as over shared memory; at first nothing.
void fakeNcclTellPeers(bool tell);
}

#endif  // EVENPACK_TESTS_GPU_WORKER_NCCL_FAKE_NCCL_H_
