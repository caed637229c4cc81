// A driver without a device, by which cuDNN builds plans for one that is described to
// it: kernels are taken as loaded, and nothing can run. A library by the driver's name;
// where it is loaded first, cuDNN finds it instead of the driver.
#include <dlfcn.h>

#include <cstdint>

namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidValue = 1;
constexpr int kNoDevice = 100;

// A kernel and its library are told apart by these alone.
int library_tag;
int kernel_tag;

}  // namespace

extern "C" {

int cuInit(unsigned) { return kNoDevice; }

int cuDriverGetVersion(int* version) {
  *version = 13000;
  return kSuccess;
}

int cuGetErrorName(int, const char** name) {
  *name = "CUDA_ERROR_NO_DEVICE";
  return kSuccess;
}

int cuGetErrorString(int, const char** text) {
  *text = "there is no device";
  return kSuccess;
}

int cuLibraryLoadData(void** library, const void* code, void*, void*, unsigned, void*,
                      void*, unsigned) {
  if (code == nullptr) return kInvalidValue;
  *library = &library_tag;
  return kSuccess;
}

int cuLibraryGetKernel(void** kernel, void* library, const char* name) {
  if (library != &library_tag || name == nullptr) return kInvalidValue;
  *kernel = &kernel_tag;
  return kSuccess;
}

int cuLibraryUnload(void* library) {
  return library == &library_tag ? kSuccess : kInvalidValue;
}

int cuKernelSetAttribute(int, int, void* kernel, int) {
  return kernel == &kernel_tag ? kSuccess : kInvalidValue;
}

// What cuDNN looks for when it is loaded, and doesn't call where nothing runs.
#define EVENPACK_ABSENT(name) \
  int name() { return kNoDevice; }
EVENPACK_ABSENT(cuCtxGetCurrent)
EVENPACK_ABSENT(cuCtxGetDevice)
EVENPACK_ABSENT(cuCtxGetLimit)
EVENPACK_ABSENT(cuCtxPopCurrent)
EVENPACK_ABSENT(cuCtxPushCurrent)
EVENPACK_ABSENT(cuDeviceGet)
EVENPACK_ABSENT(cuDeviceGetAttribute)
EVENPACK_ABSENT(cuDeviceGetCount)
EVENPACK_ABSENT(cuFuncGetAttribute)
EVENPACK_ABSENT(cuFuncSetAttribute)
EVENPACK_ABSENT(cuGetExportTable)
EVENPACK_ABSENT(cuKernelGetAttribute)
EVENPACK_ABSENT(cuLaunchCooperativeKernel)
EVENPACK_ABSENT(cuLaunchKernel)
EVENPACK_ABSENT(cuLaunchKernelEx)
EVENPACK_ABSENT(cuLibraryLoadFromFile)
EVENPACK_ABSENT(cuLinkAddData)
EVENPACK_ABSENT(cuLinkComplete)
EVENPACK_ABSENT(cuLinkCreate)
EVENPACK_ABSENT(cuLinkDestroy)
EVENPACK_ABSENT(cuModuleGetFunction)
EVENPACK_ABSENT(cuModuleLoadData)
EVENPACK_ABSENT(cuModuleLoadDataEx)
EVENPACK_ABSENT(cuModuleUnload)
EVENPACK_ABSENT(cuOccupancyMaxPotentialClusterSize)
EVENPACK_ABSENT(cuStreamGetCtx)
#undef EVENPACK_ABSENT

int cuGetProcAddress_v2(const char* name, void** function, int, uint64_t, int* found) {
  void* self = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  *function = dlsym(self, name);
  // A symbol that isn't there must not be jumped to.
  if (*function == nullptr) *function = dlsym(self, "cuStreamGetCtx");
  if (found != nullptr) *found = 0;
  return kSuccess;
}

int cuGetProcAddress(const char* name, void** function, int version, uint64_t flags) {
  return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}

}  // extern "C"
