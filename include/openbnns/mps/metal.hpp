// Devices, queues and command buffers. Work is recorded on a command buffer, starts after commit()
// and runs in the order of its queue, asynchronously.
#ifndef OPENBNNS_MPS_METAL_HPP
#define OPENBNNS_MPS_METAL_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#if defined(__GNUC__)
#define OPENBNNS_MPS_API __attribute__((visibility("default")))
#else
#define OPENBNNS_MPS_API
#endif

namespace bnns {
namespace MTL {

struct Size {
  std::size_t width = 0, height = 0, depth = 0;
  friend bool operator==(const Size&, const Size&) = default;
};
struct Origin {
  std::size_t x = 0, y = 0, z = 0;
  friend bool operator==(const Origin&, const Origin&) = default;
};
struct Region {
  Origin origin;
  Size size;
  friend bool operator==(const Region&, const Region&) = default;
};

enum class CommandBufferStatus : std::uint64_t {
  NotEnqueued = 0,
  Enqueued = 1,
  Committed = 2,
  Scheduled = 3,
  Completed = 4,
  Error = 5
};
enum class CommandBufferError : std::uint64_t {
  None = 0,
  Internal = 1,
  Timeout = 2,
  PageFault = 3,
  AccessRevoked = 4,
  NotPermitted = 7,
  OutOfMemory = 8,
  InvalidResource = 9,
  Memoryless = 10,
  DeviceRemoved = 11,
  StackOverflow = 12
};

struct ExecutionError {
  CommandBufferError code;
  std::string message;
};

class CommandQueue;
class CommandBuffer;

enum class Backend { Cpu, OpenCL };

class OPENBNNS_MPS_API Device : public std::enable_shared_from_this<Device> {
 public:
  // "cpu", "opencl", "opencl:<platform index>:<device index>"; anything else throws
  // InvalidArgument. A device that this machine does not have throws DeviceUnavailable. There is
  // one object per device as long as somebody holds it.
  static std::shared_ptr<Device> create(std::string_view name);
  static std::vector<std::string> available();  // names accepted by create() on this machine
  // Why create(name) would fail; empty if it would not.
  static std::string unavailableReason(std::string_view name);
  virtual ~Device() = default;
  virtual std::string name() const = 0;
  virtual Backend backend() const = 0;
  virtual std::shared_ptr<CommandQueue> newCommandQueue() = 0;
};

// The destructor waits for the committed buffers, except on the queue's own thread.
class OPENBNNS_MPS_API CommandQueue : public std::enable_shared_from_this<CommandQueue> {
 public:
  virtual ~CommandQueue() = default;
  virtual std::shared_ptr<Device> device() const = 0;
  virtual std::shared_ptr<CommandBuffer> commandBuffer() = 0;
  std::string label;
};

class OPENBNNS_MPS_API CommandBuffer : public std::enable_shared_from_this<CommandBuffer> {
 public:
  using Handler = std::function<void(CommandBuffer&)>;
  virtual ~CommandBuffer() = default;
  virtual std::shared_ptr<Device> device() const = 0;
  virtual std::shared_ptr<CommandQueue> commandQueue() const = 0;
  virtual void enqueue() = 0;
  virtual void commit() = 0;
  virtual void waitUntilScheduled() = 0;
  virtual void waitUntilCompleted() = 0;           // returns on Completed and on Error
  virtual CommandBufferStatus status() const = 0;  // any thread
  virtual std::optional<ExecutionError> error() const = 0;
  virtual void addScheduledHandler(Handler) = 0;  // before commit only
  virtual void addCompletedHandler(Handler) = 0;  // before commit only
  std::string label;
};

}  // namespace MTL
}  // namespace bnns

#endif
