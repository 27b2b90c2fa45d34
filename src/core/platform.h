// The only home of code that differs between operating systems.
#pragma once

#include <cstddef>
#include <mutex>

namespace bnns::impl::platform {

// Reserves zero-filled address space that is never given back; memory is used only for pages that
// are touched. nullptr if there is no address space left.
void* reserve(size_t bytes) noexcept;

// Runs `in_child` in the child after every fork() of the process.
void after_fork_in_child(void (*in_child)()) noexcept;

// Every fork() of the process waits for `mutex`, so that no child finds it locked by a thread that
// the child does not have. Meant for the few global mutexes, registered before main; no thread may
// lock one of them while it holds another.
void hold_during_fork(std::mutex& mutex) noexcept;

// Tells the core that this thread only waits for another one.
void spin_pause() noexcept;

size_t core_count() noexcept;

// Runs body(argument) on a new thread that nobody joins; false if the system refuses. Its stack of
// 256 KB beside thread-local variables is enough for kernels, and so small that many threads fit
// into a limited address space. (With sanitizers it has the system's default size.)
bool start_thread(void* (*body)(void*), void* argument) noexcept;

// Fills up to 256 bytes with random bits of the system; false if the system provides none.
bool entropy(void* to, size_t bytes) noexcept;

}  // namespace bnns::impl::platform
