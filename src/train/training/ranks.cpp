#include "train/training/ranks.h"

namespace bnns::train::impl {
namespace {

void send(Communicator& ranks, std::span<const std::byte> bytes, std::size_t to) {
  ranks.wait(ranks.begin_send(bytes, to));
}
void receive(Communicator& ranks, std::span<std::byte> bytes, std::size_t from) {
  ranks.wait(ranks.begin_receive(bytes, from));
}

}  // namespace

void broadcast_text(Communicator& ranks, std::string& text) {
  std::size_t length = text.size();
  broadcast(ranks, length);
  text.resize(length);
  broadcast_values(ranks, std::span<char>(text));
}

void add_counts(Communicator& ranks, std::span<std::size_t> counts) {
  std::vector<std::size_t> other(counts.size());
  for (std::size_t distance = 1; distance < ranks.size(); distance *= 2) {
    if (ranks.rank() % (2 * distance) == distance) {
      send(ranks, std::as_bytes(counts), ranks.rank() - distance);
      break;
    }
    if (ranks.rank() + distance >= ranks.size()) continue;
    receive(ranks, std::as_writable_bytes(std::span(other)), ranks.rank() + distance);
    for (std::size_t k = 0; k < counts.size(); ++k) counts[k] += other[k];
  }
  broadcast_values(ranks, counts);
}

std::vector<std::string> gather_texts(Communicator& ranks, const std::string& text) {
  std::size_t length = text.size();
  if (ranks.rank() != 0) {
    send(ranks, std::as_bytes(std::span(&length, 1)), 0);
    if (length > 0) send(ranks, std::as_bytes(std::span(text)), 0);
    return {};
  }
  std::vector<std::string> texts = {text};
  for (std::size_t from = 1; from < ranks.size(); ++from) {
    receive(ranks, std::as_writable_bytes(std::span(&length, 1)), from);
    std::string& other = texts.emplace_back(length, '\0');
    if (length > 0) receive(ranks, std::as_writable_bytes(std::span<char>(other)), from);
  }
  return texts;
}

}  // namespace bnns::train::impl
