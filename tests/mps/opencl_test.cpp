// What only an OpenCL device can get wrong: libraries, platforms and devices that are missing or
// not good enough, calls that fail, work groups of any size, devices without doubles and halves.
// Calls go through a table of functions that fail when they are told to.
#include <atomic>
#include <cmath>
#include <cstring>
#include <tuple>
#include <type_traits>

#include "mps/opencl/device.h"
#include "support.h"

namespace mps_test {
namespace {

namespace opencl = impl::mps::opencl;
using opencl::Api;

// ---- Calls that fail ----

std::atomic<std::int32_t> fault_code{0};
template <auto kMember>
std::atomic<bool> armed{false};

template <auto kMember, class Result, class... Arguments>
Result call(Arguments... arguments) {
  if (!armed<kMember>) return (opencl::library().api.*kMember)(arguments...);
  if constexpr (std::is_same_v<Result, std::int32_t>) {
    return fault_code;
  } else {  // The last argument of a function that makes something receives the code.
    *std::get<sizeof...(Arguments) - 1>(std::tuple(arguments...)) = fault_code;
    return nullptr;
  }
}
template <auto kMember, class Result, class... Arguments>
auto wrapper(Result (*Api::*)(Arguments...)) {
  return &call<kMember, Result, Arguments...>;
}

Api faulty_api() {
  Api api;
#define OPENBNNS_WRAP(name, result, arguments) api.name = wrapper<&Api::name>(&Api::name);
  OPENBNNS_OPENCL_FUNCTIONS(OPENBNNS_WRAP)
#undef OPENBNNS_WRAP
  return api;
}

struct Function {
  const char* name;
  std::atomic<bool>* armed;
};
#define OPENBNNS_FUNCTION(name)    \
  Function {                       \
    "cl" #name, &armed<&Api::name> \
  }

// A function fails while this lives.
class Fault {
 public:
  Fault(const Function& function, std::int32_t code) : armed_(function.armed) {
    fault_code = code;
    *armed_ = true;
  }
  ~Fault() { *armed_ = false; }
  Fault(const Fault&) = delete;
  Fault& operator=(const Fault&) = delete;

 private:
  std::atomic<bool>* armed_;
};

constexpr std::int32_t kInvalidOperation = -59, kOutOfResources = -5;

std::shared_ptr<opencl::Device> device_of(const Api& api) {
  std::string reason;
  auto device = opencl::Device::make(api, opencl::catalog().entries[0], reason);
  EXPECT_NE(device, nullptr) << reason;
  return device;
}

// A loss with soft-max, weights that are counted and a gradient: every kernel but those of YOLO.
struct Problem {
  explicit Problem(const std::shared_ptr<MTL::Device>& device, Extent e = {7, 3, 5})
      : extent(e),
        forward(device, MPS::CNNLossDescriptor(Type::SoftMaxCrossEntropy, Reduction::Mean)),
        gradient(device, MPS::CNNLossDescriptor(Type::Huber, Reduction::SumByNonZeroWeights)) {
    std::vector<float> y(e.elements()), t(y.size());
    for (std::size_t i = 0; i < y.size(); ++i) {
      y[i] = 2 * std::sin(static_cast<float>(i));
      t[i] = std::cos(0.7f * static_cast<float>(i));
    }
    sources = {image(device, e, Format::Float32, y)};
    labels = {image(device, e, Format::Float32, t)};
    ones = images(device, 1, {}, Format::Float32, 1);
    losses = images(device, 1, {});
    slopes = images(device, 1, e);
  }
  void encode(MTL::CommandBuffer& buffer) const {
    forward.encodeBatch(buffer, sources, labels, labels, {}, losses);
    gradient.encodeBatch(buffer, ones, sources, labels, labels, {}, slopes);
  }
  std::vector<float> results() const {
    std::vector<float> all = slopes[0]->toFloats();
    all.push_back(losses[0]->toFloats()[0]);
    return all;
  }

  Extent extent;
  MPS::NNForwardLoss forward;
  MPS::NNLossGradient gradient;
  MPS::ImageBatch sources, labels, ones, losses, slopes;
};

TEST(OpenCl, AFailedCallIsTheErrorOfItsBuffer) {
  const Function functions[] = {
      OPENBNNS_FUNCTION(CreateKernel), OPENBNNS_FUNCTION(GetKernelWorkGroupInfo),
      OPENBNNS_FUNCTION(SetKernelArg), OPENBNNS_FUNCTION(EnqueueNDRangeKernel),
      OPENBNNS_FUNCTION(CreateBuffer), OPENBNNS_FUNCTION(Finish)};
  for (const Function& function : functions) {
    for (const std::int32_t code : {kInvalidOperation, kOutOfResources}) {
      const auto device = device_of(faulty_api());
      const Problem problem(device);
      const auto queue = device->newCommandQueue();
      const auto buffer = queue->commandBuffer();
      problem.encode(*buffer);
      {
        const Fault fault(function, code);
        buffer->commit();
        buffer->waitUntilCompleted();
      }
      EXPECT_EQ(buffer->status(), MTL::CommandBufferStatus::Error) << function.name;
      ASSERT_TRUE(buffer->error().has_value());
      const std::string text = buffer->error()->message;
      EXPECT_NE(text.find(function.name), std::string::npos) << text;
      EXPECT_NE(text.find(code == kOutOfResources ? "CL_OUT_OF_RESOURCES (-5)"
                                                  : "CL_INVALID_OPERATION (-59)"),
                std::string::npos)
          << text;
      EXPECT_EQ(buffer->error()->code, code == kOutOfResources
                                           ? MTL::CommandBufferError::OutOfMemory
                                           : MTL::CommandBufferError::Internal);
      run(queue, [&](MTL::CommandBuffer& next) { problem.encode(next); });
      EXPECT_TRUE(std::isfinite(problem.results().back())) << "later buffers still run";
    }
  }
}

TEST(OpenCl, FailedCallsOfImages) {
  const auto device = device_of(faulty_api());
  const auto make = [&](std::int32_t code, const Function& function) {
    const Fault fault(function, code);
    return code_of([&] { MPS::Image::create(device, {Format::Float32, 2, 2, 1, 1}); });
  };
  EXPECT_EQ(make(kInvalidOperation, OPENBNNS_FUNCTION(CreateCommandQueue)), Code::DeviceError);
  EXPECT_EQ(make(kInvalidOperation, OPENBNNS_FUNCTION(CreateBuffer)), Code::DeviceError);
  EXPECT_EQ(make(-61, OPENBNNS_FUNCTION(CreateBuffer)), Code::OutOfMemory);
  EXPECT_EQ(make(-4, OPENBNNS_FUNCTION(EnqueueFillBuffer)), Code::OutOfMemory);
  EXPECT_EQ(make(kInvalidOperation, OPENBNNS_FUNCTION(EnqueueFillBuffer)), Code::DeviceError);
  const auto one = image(device, {2, 1, 1}, Format::Float32, {1, 2});
  {
    const Fault fault(OPENBNNS_FUNCTION(EnqueueReadBuffer), kInvalidOperation);
    EXPECT_EQ(code_of([&] { one->toFloats(); }), Code::DeviceError);
  }
  {
    const Fault fault(OPENBNNS_FUNCTION(EnqueueWriteBuffer), kInvalidOperation);
    EXPECT_EQ(code_of([&] { one->fromFloats(std::vector<float>{3, 4}); }), Code::DeviceError);
  }
  EXPECT_EQ(one->toFloats(), (std::vector<float>{1, 2}));
  one->fromFloats(std::vector<float>{5, 6});
  EXPECT_EQ(one->toFloats(), (std::vector<float>{5, 6}));
}

TEST(OpenCl, DevicesThatCannotBeMade) {
  const auto reason_of = [](const Api& api) {
    std::string reason;
    EXPECT_EQ(opencl::Device::make(api, opencl::catalog().entries[0], reason), nullptr);
    return reason;
  };
  const Function functions[] = {OPENBNNS_FUNCTION(CreateContext),
                                OPENBNNS_FUNCTION(CreateProgramWithSource),
                                OPENBNNS_FUNCTION(BuildProgram)};
  for (const Function& function : functions) {
    const Fault fault(function, kOutOfResources);
    EXPECT_NE(reason_of(faulty_api()).find(std::string(function.name) + " failed with CL_OUT"),
              std::string::npos);
  }
  Api api = faulty_api();
  api.GetProgramBuildInfo = [](opencl::Program, opencl::DeviceId, std::uint32_t, std::size_t room,
                               void* to, std::size_t* size) -> std::int32_t {
    static constexpr char kLog[] = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";
    if (size != nullptr) *size = sizeof kLog;
    if (to != nullptr) std::memcpy(to, kLog, std::min(room, sizeof kLog));
    return 0;
  };
  const Fault fault(OPENBNNS_FUNCTION(BuildProgram), -11);
  const std::string reason = reason_of(api);
  EXPECT_NE(reason.find("CL_BUILD_PROGRAM_FAILURE (-11): one two"), std::string::npos) << reason;
  EXPECT_EQ(reason.find("seven"), std::string::npos) << "the first lines only";
}

// ---- Devices that are not there, or not good enough ----

TEST(OpenCl, Catalogs) {
  EXPECT_EQ(opencl::read_catalog({.api = {}, .reason = "no library"}).reason, "no library");
  const struct {
    Function function;
    std::int32_t code;
    const char* reason;
  } cases[] = {{OPENBNNS_FUNCTION(GetPlatformIDs), -1001, "no OpenCL platform is installed"},
               {OPENBNNS_FUNCTION(GetPlatformIDs), -6, "CL_OUT_OF_HOST_MEMORY (-6)"},
               {OPENBNNS_FUNCTION(GetDeviceIDs), -1, "no OpenCL platform has a device"}};
  for (const auto& [function, code, text] : cases) {
    const Fault fault(function, code);
    const opencl::Catalog catalog = opencl::read_catalog({.api = faulty_api(), .reason = ""});
    EXPECT_TRUE(catalog.entries.empty());
    EXPECT_NE(catalog.reason.find(text), std::string::npos) << catalog.reason;
    std::string reason;
    EXPECT_TRUE(opencl::candidates(catalog, reason).empty());
    EXPECT_EQ(reason, catalog.reason);
  }
  std::string reason;
  const opencl::Catalog& real = opencl::catalog();
  EXPECT_EQ(opencl::candidates(real, 0, 0, reason).size(), 1u);
  EXPECT_TRUE(opencl::candidates(real, 99, 0, reason).empty());
  EXPECT_NE(reason.find("no platform 99"), std::string::npos) << reason;
  EXPECT_TRUE(opencl::candidates(real, 0, 99, reason).empty());
  EXPECT_NE(reason.find("no device 99"), std::string::npos) << reason;
}

std::uint32_t changed_field;
const char* changed_text;  // nullptr: the number 0

std::int32_t changed_info(opencl::DeviceId device, std::uint32_t field, std::size_t room, void* to,
                          std::size_t* size) {
  if (field != changed_field)
    return opencl::library().api.GetDeviceInfo(device, field, room, to, size);
  const std::size_t bytes = changed_text == nullptr ? room : std::strlen(changed_text) + 1;
  if (size != nullptr) *size = bytes;
  if (to != nullptr && changed_text == nullptr) std::memset(to, 0, room);
  if (to != nullptr && changed_text != nullptr) std::memcpy(to, changed_text, bytes);
  return 0;
}

TEST(OpenCl, DevicesThatAreNotGoodEnough) {
  const struct {
    std::uint32_t field;
    const char* text;
    const char* reason;
  } cases[] = {{opencl::kDeviceAvailable, nullptr, "not available"},
               {opencl::kDeviceCompilerAvailable, nullptr, "no compiler"},
               {opencl::kDeviceLittleEndian, nullptr, "big-endian"},
               {opencl::kDeviceVersion, "OpenCL 1.1 old", "OpenCL 1.2 is needed"},
               {opencl::kDeviceVersion, "", "OpenCL 1.2 is needed"},
               {opencl::kDeviceVersion, "OpenCL 3.0 new", ""},
               {opencl::kDeviceProfile, "EMBEDDED_PROFILE", "FULL_PROFILE is needed"}};
  Api api = opencl::library().api;
  api.GetDeviceInfo = changed_info;
  for (const auto& [field, text, expected] : cases) {
    changed_field = field;
    changed_text = text;
    const opencl::Catalog catalog = opencl::read_catalog({.api = api, .reason = ""});
    ASSERT_FALSE(catalog.entries.empty());
    const std::string& reason = catalog.entries[0].reason;
    EXPECT_NE(reason.find(expected), std::string::npos) << reason;
    EXPECT_EQ(reason.empty(), *expected == '\0');
    if (reason.empty()) continue;
    std::string again;
    EXPECT_EQ(opencl::Device::make(api, catalog.entries[0], again), nullptr);
    EXPECT_EQ(again, reason);
  }
}

// ---- Kernels on lesser devices ----

std::size_t group_limit;

// The limit of a device on its work groups changes no bit of sums.
TEST(OpenCl, SameBitsForAnySizeOfWorkGroups) {
  Api api = opencl::library().api;
  api.GetKernelWorkGroupInfo = [](opencl::Kernel, opencl::DeviceId, std::uint32_t, std::size_t,
                                  void* to, std::size_t*) -> std::int32_t {
    std::memcpy(to, &group_limit, sizeof group_limit);
    return 0;
  };
  std::vector<float> first;
  for (const std::size_t limit : {64, 1, 7, 256}) {
    group_limit = limit;
    const auto device = device_of(api);
    MPS::CNNLossDescriptor loss(Type::MeanSquaredError, Reduction::Mean);
    Problem problem(device, {61, 47, 5});
    const MPS::NNForwardLoss squares(device, loss);
    for (int repeat = 0; repeat < 2; ++repeat) {
      run(device->newCommandQueue(), [&](MTL::CommandBuffer& buffer) {
        problem.encode(buffer);
        squares.encodeBatch(buffer, problem.sources, problem.labels, problem.labels, {},
                            problem.losses);
      });
      const std::vector<float> results = problem.results();
      if (first.empty()) first = results;
      EXPECT_EQ(std::memcmp(results.data(), first.data(), first.size() * sizeof(float)), 0)
          << "groups of " << limit;
    }
  }
}

TEST(OpenCl, KernelsNeedNeitherDoublesNorHalves) {
  Api api = opencl::library().api;
  api.CreateProgramWithSource = [](opencl::Context context, std::uint32_t, const char** sources,
                                   const std::size_t*, std::int32_t* code) {
    const std::string text = std::string("#define double @\n#define half @\n") + sources[0];
    const char* changed = text.c_str();
    return opencl::library().api.CreateProgramWithSource(context, 1, &changed, nullptr, code);
  };
  const auto device = device_of(api);
  const Problem problem(device);
  run(device->newCommandQueue(), [&](MTL::CommandBuffer& buffer) { problem.encode(buffer); });
}

}  // namespace
}  // namespace mps_test
