// Runs part of a test in a child process, so that limits, environment and deadlocks stay there.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace test {

constexpr int kTimedOut = -1000;

// Exit code of the child, minus the signal that ended it, or kTimedOut (the child is killed then).
inline int wait_for(pid_t child, std::chrono::seconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return kTimedOut;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// Runs body() in a forked child; its result is the exit code.
template <class Body>
int in_forked_child(const Body& body, std::chrono::seconds limit = std::chrono::seconds(30)) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  return child < 0 ? -1 : wait_for(child, limit);
}

struct Output {
  int code;
  std::string out, err;
};

// Runs this program again with the given arguments. Of the library's variables it sees only those
// in `environment` ("NAME=value").
inline Output run_self(const std::vector<std::string>& arguments,
                       const std::vector<std::string>& environment) {
  std::string files[2];
  int handles[2];
  for (int i = 0; i < 2; ++i) {
    char name[] = "/tmp/openbnns_child_XXXXXX";
    handles[i] = mkstemp(name);
    files[i] = name;
  }
  std::vector<char*> argv;
  std::string self = "/proc/self/exe";
  argv.push_back(self.data());
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    dup2(handles[0], STDOUT_FILENO);
    dup2(handles[1], STDERR_FILENO);
    for (const char* name : {"OPENBNNS_LOG", "OPENBNNS_THREADS", "OPENBNNS_TARGET"}) unsetenv(name);
    for (const std::string& e : environment) putenv(const_cast<char*>(e.c_str()));
    execv("/proc/self/exe", argv.data());
    _exit(127);
  }
  Output output = {.code = wait_for(child, std::chrono::seconds(60)), .out = {}, .err = {}};
  for (int i = 0; i < 2; ++i) {
    char buffer[4096];
    lseek(handles[i], 0, SEEK_SET);
    for (ssize_t n; (n = read(handles[i], buffer, sizeof buffer)) > 0;)
      (i == 0 ? output.out : output.err).append(buffer, static_cast<size_t>(n));
    close(handles[i]);
    unlink(files[i].c_str());
  }
  return output;
}

}  // namespace test
