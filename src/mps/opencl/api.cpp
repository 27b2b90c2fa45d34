#include "mps/opencl/api.h"

#include <dlfcn.h>

#include "mps/error.h"

namespace bnns::impl::mps::opencl {
namespace {

constexpr const char* kLibrary = "libOpenCL.so.1";

// Names by code, from 0 downwards; from kSecondBlock on the errors of arguments.
constexpr const char* kExecutionCodes[] = {"SUCCESS",
                                           "DEVICE_NOT_FOUND",
                                           "DEVICE_NOT_AVAILABLE",
                                           "COMPILER_NOT_AVAILABLE",
                                           "MEM_OBJECT_ALLOCATION_FAILURE",
                                           "OUT_OF_RESOURCES",
                                           "OUT_OF_HOST_MEMORY",
                                           "PROFILING_INFO_NOT_AVAILABLE",
                                           "MEM_COPY_OVERLAP",
                                           "IMAGE_FORMAT_MISMATCH",
                                           "IMAGE_FORMAT_NOT_SUPPORTED",
                                           "BUILD_PROGRAM_FAILURE",
                                           "MAP_FAILURE",
                                           "MISALIGNED_SUB_BUFFER_OFFSET",
                                           "EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
                                           "COMPILE_PROGRAM_FAILURE",
                                           "LINKER_NOT_AVAILABLE",
                                           "LINK_PROGRAM_FAILURE",
                                           "DEVICE_PARTITION_FAILED",
                                           "KERNEL_ARG_INFO_NOT_AVAILABLE"};
constexpr int32_t kSecondBlock = -30;
constexpr const char* kArgumentCodes[] = {"VALUE",
                                          "DEVICE_TYPE",
                                          "PLATFORM",
                                          "DEVICE",
                                          "CONTEXT",
                                          "QUEUE_PROPERTIES",
                                          "COMMAND_QUEUE",
                                          "HOST_PTR",
                                          "MEM_OBJECT",
                                          "IMAGE_FORMAT_DESCRIPTOR",
                                          "IMAGE_SIZE",
                                          "SAMPLER",
                                          "BINARY",
                                          "BUILD_OPTIONS",
                                          "PROGRAM",
                                          "PROGRAM_EXECUTABLE",
                                          "KERNEL_NAME",
                                          "KERNEL_DEFINITION",
                                          "KERNEL",
                                          "ARG_INDEX",
                                          "ARG_VALUE",
                                          "ARG_SIZE",
                                          "KERNEL_ARGS",
                                          "WORK_DIMENSION",
                                          "WORK_GROUP_SIZE",
                                          "WORK_ITEM_SIZE",
                                          "GLOBAL_OFFSET",
                                          "EVENT_WAIT_LIST",
                                          "EVENT",
                                          "OPERATION",
                                          "GL_OBJECT",
                                          "BUFFER_SIZE",
                                          "MIP_LEVEL",
                                          "GLOBAL_WORK_SIZE",
                                          "PROPERTY",
                                          "IMAGE_DESCRIPTOR",
                                          "COMPILER_OPTIONS",
                                          "LINKER_OPTIONS",
                                          "DEVICE_PARTITION_COUNT"};

Library open_library() {
  Library result;
  // Never closed: its threads may outlive us.
  void* const handle = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const text = dlerror();
    result.reason =
        std::string("the OpenCL library cannot be loaded: ") + (text == nullptr ? kLibrary : text);
    return result;
  }
  const auto find = [&](const char* name) {
    void* const function = dlsym(handle, name);
    if (function == nullptr && result.reason.empty())
      result.reason = std::string(kLibrary) + " has no function " + name;
    return function;
  };
#define OPENBNNS_OPENCL_FIND(name, type, arguments) \
  result.api.name = reinterpret_cast<type(*) arguments>(find("cl" #name));
  OPENBNNS_OPENCL_FUNCTIONS(OPENBNNS_OPENCL_FIND)
#undef OPENBNNS_OPENCL_FIND
  return result;
}

}  // namespace

const Library& library() {
  static const Library* const one = new Library(open_library());  // usable during exit
  return *one;
}

std::string code_name(int32_t code) {
  std::string name = "an unknown code";
  if (code <= 0 && -code < static_cast<int32_t>(std::size(kExecutionCodes))) {
    name = std::string("CL_") + kExecutionCodes[-code];
  } else if (code <= kSecondBlock &&
             kSecondBlock - code < static_cast<int32_t>(std::size(kArgumentCodes))) {
    name = std::string("CL_INVALID_") + kArgumentCodes[kSecondBlock - code];
  } else if (code == kPlatformNotFound) {
    name = "CL_PLATFORM_NOT_FOUND_KHR";
  }
  return name + " (" + std::to_string(code) + ")";
}

bool is_memory_failure(int32_t code) {
  return code == kBufferAllocationFailure || code == kOutOfResources || code == kOutOfHostMemory ||
         code == kInvalidBufferSize;
}

void check(int32_t code, const char* function) {
  if (code == kSuccess) return;
  fail(is_memory_failure(code) ? ErrorCode::OutOfMemory : ErrorCode::DeviceError,
       "OpenCL: ", function, " failed with ", code_name(code));
}

}  // namespace bnns::impl::mps::opencl
