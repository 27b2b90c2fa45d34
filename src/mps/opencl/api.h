// The part of OpenCL 1.2 that is used here, in declarations of our own, so that neither its headers
// nor its library are needed to build. The library is opened when somebody first asks for a device;
// all calls go through a table of its functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace bnns::impl::mps::opencl {

// Handles are pointers to objects of the library.
using Platform = struct PlatformObject*;
using DeviceId = struct DeviceObject*;
using Context = struct ContextObject*;
using CommandQueue = struct CommandQueueObject*;
using Program = struct ProgramObject*;
using Kernel = struct KernelObject*;
using Buffer = struct BufferObject*;
using Event = struct EventObject*;

// Codes that are told apart; code_name() knows all of them.
enum Code : int32_t {
  kSuccess = 0,
  kDeviceNotFound = -1,
  kBufferAllocationFailure = -4,
  kOutOfResources = -5,
  kOutOfHostMemory = -6,
  kInvalidBufferSize = -61,
  kPlatformNotFound = -1001,  // of the loader: no platform is installed
};
enum PlatformField : uint32_t { kPlatformName = 0x0902 };
enum DeviceField : uint32_t {
  kDeviceType = 0x1000,
  kDeviceMaxWorkItemSizes = 0x1005,
  kDeviceLittleEndian = 0x1026,
  kDeviceAvailable = 0x1027,
  kDeviceCompilerAvailable = 0x1028,
  kDeviceName = 0x102B,
  kDeviceProfile = 0x102E,
  kDeviceVersion = 0x102F,
};
enum : uint32_t { kProgramBuildLog = 0x1183, kKernelWorkGroupSize = 0x11B0 };
enum : uint64_t { kDeviceTypeGpu = 1 << 2, kAllDeviceTypes = 0xFFFFFFFF, kReadWrite = 1 << 0 };
enum : intptr_t { kContextPlatform = 0x1084 };

using ContextNotify = void (*)(const char*, const void*, size_t, void*);
using ProgramNotify = void (*)(Program, void*);

// X(name without "cl", result, arguments)
#define OPENBNNS_OPENCL_FUNCTIONS(X)                                                               \
  X(GetPlatformIDs, int32_t, (uint32_t, Platform*, uint32_t*))                                     \
  X(GetPlatformInfo, int32_t, (Platform, uint32_t, size_t, void*, size_t*))                        \
  X(GetDeviceIDs, int32_t, (Platform, uint64_t, uint32_t, DeviceId*, uint32_t*))                   \
  X(GetDeviceInfo, int32_t, (DeviceId, uint32_t, size_t, void*, size_t*))                          \
  X(CreateContext, Context,                                                                        \
    (const intptr_t*, uint32_t, const DeviceId*, ContextNotify, void*, int32_t*))                  \
  X(ReleaseContext, int32_t, (Context))                                                            \
  X(CreateCommandQueue, CommandQueue, (Context, DeviceId, uint64_t, int32_t*))                     \
  X(ReleaseCommandQueue, int32_t, (CommandQueue))                                                  \
  X(CreateProgramWithSource, Program, (Context, uint32_t, const char**, const size_t*, int32_t*))  \
  X(BuildProgram, int32_t,                                                                         \
    (Program, uint32_t, const DeviceId*, const char*, ProgramNotify, void*))                       \
  X(GetProgramBuildInfo, int32_t, (Program, DeviceId, uint32_t, size_t, void*, size_t*))           \
  X(ReleaseProgram, int32_t, (Program))                                                            \
  X(CreateKernel, Kernel, (Program, const char*, int32_t*))                                        \
  X(ReleaseKernel, int32_t, (Kernel))                                                              \
  X(SetKernelArg, int32_t, (Kernel, uint32_t, size_t, const void*))                                \
  X(GetKernelWorkGroupInfo, int32_t, (Kernel, DeviceId, uint32_t, size_t, void*, size_t*))         \
  X(EnqueueNDRangeKernel, int32_t,                                                                 \
    (CommandQueue, Kernel, uint32_t, const size_t*, const size_t*, const size_t*, uint32_t,        \
     const Event*, Event*))                                                                        \
  X(CreateBuffer, Buffer, (Context, uint64_t, size_t, void*, int32_t*))                            \
  X(ReleaseMemObject, int32_t, (Buffer))                                                           \
  X(EnqueueReadBuffer, int32_t,                                                                    \
    (CommandQueue, Buffer, uint32_t, size_t, size_t, void*, uint32_t, const Event*, Event*))       \
  X(EnqueueWriteBuffer, int32_t,                                                                   \
    (CommandQueue, Buffer, uint32_t, size_t, size_t, const void*, uint32_t, const Event*, Event*)) \
  X(EnqueueFillBuffer, int32_t,                                                                    \
    (CommandQueue, Buffer, const void*, size_t, size_t, size_t, uint32_t, const Event*, Event*))   \
  X(Finish, int32_t, (CommandQueue))

struct Api {
#define OPENBNNS_OPENCL_MEMBER(name, result, arguments) result(*name) arguments = nullptr;
  OPENBNNS_OPENCL_FUNCTIONS(OPENBNNS_OPENCL_MEMBER)
#undef OPENBNNS_OPENCL_MEMBER
};

// What came of opening the library, once per process.
struct Library {
  Api api;
  std::string reason;  // why there is none; empty if there is
};
const Library& library();

// "CL_OUT_OF_RESOURCES (-5)"
std::string code_name(int32_t code);
// True for the codes that mean that memory ran out.
bool is_memory_failure(int32_t code);
// Throws MPS::Error with function and code name, unless the code is success.
void check(int32_t code, const char* function);

// The owner of a handle.
template <class Handle>
class Owned {
 public:
  using Release = int32_t (*)(Handle);
  Owned() = default;
  Owned(Handle handle, Release release) : handle_(handle), release_(release) {}
  Owned(Owned&& other) noexcept : handle_(other.handle_), release_(other.release_) {
    other.handle_ = nullptr;
  }
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(release_, other.release_);
    return *this;
  }
  ~Owned() {
    if (handle_ != nullptr) release_(handle_);
  }
  Handle get() const { return handle_; }

 private:
  Handle handle_ = nullptr;
  Release release_ = nullptr;
};

}  // namespace bnns::impl::mps::opencl
