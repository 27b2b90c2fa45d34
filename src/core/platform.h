// The only home of code that differs between operating systems.
#pragma once

#include <cstddef>
#include <mutex>

namespace bnns::impl::platform {

// Reserves zero-filled address space that is never given back; pages appear when first touched.
// nullptr if there is none.
void* reserve(size_t bytes) noexcept;

// Runs `in_child` in the child after every fork() of the process.
void after_fork_in_child(void (*in_child)()) noexcept;

// Every fork() of the process waits for `mutex`, so that no child finds it locked by a thread it
// does not have. For the few mutexes that exist once, before main; none is held while another one
// is locked.
void hold_during_fork(std::mutex& mutex) noexcept;

// Tells the core that this thread only waits for another one.
void spin_pause() noexcept;

size_t core_count() noexcept;

// Runs body(argument) on a new thread that nobody joins; false if the system refuses. Its stack of
// 256 KB is enough for kernels, and so small that many threads fit into a limited address space.
bool start_thread(void* (*body)(void*), void* argument) noexcept;

// Fills up to 256 bytes with unpredictable bits; false if the system has none to give.
bool entropy(void* to, size_t bytes) noexcept;

}  // namespace bnns::impl::platform
