// The plug-in for MPI: messages between the ranks of a training. One thread makes all calls, and
// transfers go on only inside of calls, so that whoever computes calls progress() in between.
#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <openbnns/train/communicator.hpp>
#include <vector>

namespace {

using bnns::train::Communicator;

// MPI counts in int: longer messages travel in parts.
constexpr std::size_t kPart = std::size_t{1} << 30;

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator() {
    int provided = 0, rank = 0, size = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    rank_ = static_cast<std::size_t>(rank);
    size_ = static_cast<std::size_t>(size);
  }
  // Waits for the other ranks. They would wait for one that leaves because of an exception.
  ~MpiCommunicator() override {
    if (std::uncaught_exceptions() > 0) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Finalize();
  }

  std::size_t rank() const override { return rank_; }
  std::size_t size() const override { return size_; }

  Transfer begin_send(std::span<const std::byte> bytes, std::size_t to) override {
    return begin(bytes.size(), [&](std::size_t at, int count, MPI_Request* request) {
      MPI_Isend(bytes.data() + at, count, MPI_BYTE, static_cast<int>(to), 0, MPI_COMM_WORLD,
                request);
    });
  }
  Transfer begin_receive(std::span<std::byte> bytes, std::size_t from) override {
    return begin(bytes.size(), [&](std::size_t at, int count, MPI_Request* request) {
      MPI_Irecv(bytes.data() + at, count, MPI_BYTE, static_cast<int>(from), 0, MPI_COMM_WORLD,
                request);
    });
  }
  void wait(Transfer transfer) override {
    std::vector<MPI_Request>& requests = transfers_[transfer];
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    requests.clear();
    free_.push_back(transfer);
  }
  void progress() override {
    int flag = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  }
  void broadcast(std::span<std::byte> bytes, std::size_t root) override {
    for (std::size_t at = 0; at < bytes.size(); at += kPart) {
      MPI_Bcast(bytes.data() + at, part(bytes.size() - at), MPI_BYTE, static_cast<int>(root),
                MPI_COMM_WORLD);
    }
  }
  [[noreturn]] void abort(int status) override {
    MPI_Abort(MPI_COMM_WORLD, status);
    std::_Exit(status);
  }

 private:
  static int part(std::size_t left) { return static_cast<int>(std::min(left, kPart)); }

  template <typename Begin>
  Transfer begin(std::size_t bytes, const Begin& begin_part) {
    Transfer transfer = transfers_.size();
    if (free_.empty()) {
      transfers_.emplace_back();
    } else {
      transfer = free_.back();
      free_.pop_back();
    }
    for (std::size_t at = 0; at < bytes; at += kPart) {
      begin_part(at, part(bytes - at), &transfers_[transfer].emplace_back());
    }
    return transfer;
  }

  std::size_t rank_ = 0, size_ = 1;
  std::vector<std::vector<MPI_Request>> transfers_;
  std::vector<Transfer> free_;
};

}  // namespace

// NULL if the caller is another version of the library.
extern "C" __attribute__((visibility("default"))) Communicator* openbnns_make_communicator(
    const char* version) {
  return std::strcmp(version, OPENBNNS_VERSION) == 0 ? new MpiCommunicator() : nullptr;
}
