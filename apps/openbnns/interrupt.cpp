#include "interrupt.h"

#include <signal.h>

#include <atomic>

namespace program {
namespace {

std::atomic<int> received = 0;
static_assert(std::atomic<int>::is_always_lock_free);

void restore_defaults() {
  struct sigaction plain = {};
  plain.sa_handler = SIG_DFL;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaction(number, &plain, nullptr);
}

extern "C" void note_signal(int number) {
  received.store(number);
  restore_defaults();
}

}  // namespace

void watch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = note_signal;
  action.sa_flags = SA_RESTART;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before = {};
    sigaction(number, nullptr, &before);
    // Whoever started the program with nohup wants it to be deaf to the signal.
    if (before.sa_handler != SIG_IGN) sigaction(number, &action, nullptr);
  }
}

int interrupt_signal() {
  return received.load();
}

}  // namespace program
