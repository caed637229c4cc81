// What tests ask of libfake_cuda.so, a double of the CUDA driver: device memory is host
// memory, poisoned when it is taken and when it is given back; streams are queues that
// a thread each carries out in order. Code under test loads it as it loads the driver,
// by EVENPACK_FAKE_CUDA, its path.
//
// It notes what no device would forgive: handles that are none, a context that is not
// current, memory used before it is taken in the order of its stream, after it is given
// back, or beyond its end. Under the thread sanitizer streams that are not ordered show
// as races.
#ifndef EVENPACK_TESTS_GPU_WORKER_CUDA_FAKE_CUDA_H_
#define EVENPACK_TESTS_GPU_WORKER_CUDA_FAKE_CUDA_H_

#include <cstddef>
#include <cstdint>

#include "gpu_worker/cuda/cuda_abi.h"

extern "C" {
// What was misused since the last reset, a line each; empty: nothing. The caller's, to
// free().
char* fakeCudaMisuse();
// Notes a misuse that another double found.
void fakeCudaNote(const char* misuse);
// How many contexts, streams, events, graphs, pools, libraries and pieces of memory
// there are.
size_t fakeCudaLive();
// Whether these bytes are memory that a device may use at this point of a stream: its
// own, or page-locked.
bool fakeCudaOwns(const void* data, size_t bytes);
// Forgets misuses and settings.
void fakeCudaReset();
// Puts what another double computes into a stream, with its argument, of which the
// stream has a copy.
evenpack::worker::cuda::Result fakeCudaLaunch(evenpack::worker::cuda::Stream stream,
                                              void (*kernel)(const void* argument),
                                              const void* argument, size_t bytes);
// Likewise, for a kernel that may begin before what the stream was given last is
// complete (programmatic dependent launch), and doesn't wait for it.
evenpack::worker::cuda::Result fakeCudaLaunchEarly(
    evenpack::worker::cuda::Stream stream, void (*kernel)(const void* argument),
    const void* argument, size_t bytes);
// What cuDriverGetVersion tells; at first 13000.
void fakeCudaSetVersion(int version);
// As a kernel's fault: from now on this is the answer to all that is asked with a
// context.
void fakeCudaFail(evenpack::worker::cuda::Result result);
// Whether a thread waits, on the host, for what a stream was given.
bool fakeCudaIsAwaited();
// Whether no further event is made, for want of memory; at first it is.
void fakeCudaRefuseEvents(bool refused);
// On the device, whose clock stands still otherwise: by what a stream is given.
void fakeCudaPassTime(uint64_t nanoseconds);
// Whether the device may read and write the memory: its own, or of a pool that was
// opened to it.
bool fakeCudaMayAccess(const void* data, int device);
// Whether devices can reach each other's memory; at first they can.
void fakeCudaConnectDevices(bool connected);
// The device's memory; at first 1 GiB.
void fakeCudaSetMemory(size_t bytes);
}

#endif  // EVENPACK_TESTS_GPU_WORKER_CUDA_FAKE_CUDA_H_
