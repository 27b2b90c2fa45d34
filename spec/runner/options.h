// The options of the command line, the names they select, and the counts of results.
#ifndef OPENBNNS_SPEC_OPTIONS_H
#define OPENBNNS_SPEC_OPTIONS_H

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "runner/random.h"

namespace spec {

struct Options {
  std::string mode;
  std::string only_case;       // a full name, or the beginning of one
  std::string filter;          // a part of layer/function/shape
  size_t part = 1, parts = 1;  // test: run part `part` of `parts` equal ones
  bool quick = false;
  bool json = false;
  bool digest = false;  // test: also print a checksum of the results per layer and target

  // Whether the selection can contain names that begin with `name`.
  bool selects(const std::string& name) const {
    if (only_case.empty()) return true;
    const size_t n = std::min(name.size(), only_case.size());
    return name.compare(0, n, only_case, 0, n) == 0;
  }
  // Neighbours in the list take about the same time, so they are dealt out to different parts.
  bool has_part(size_t index) const { return index % parts == part - 1; }
  // Quick runs take a fixed sample, the same on every machine.
  bool samples(const std::string& name, uint64_t one_of) const {
    return !quick || !only_case.empty() || hash(name) % one_of == 0;
  }
};

class Report {
 public:
  void pass() { ++passed_; }
  void fail(const std::string& name, const std::string& what) {
    ++failed_;
    std::printf("%s: %s\n", name.c_str(), what.c_str());
    std::fflush(stdout);
  }
  void refused() { ++refused_; }
  // FNV-1a over the bytes of every result, in the order of the cases.
  void add_to_digest(const std::string& key, const std::vector<std::byte>& bytes) {
    uint64_t& h = digests_.try_emplace(key, 0xCBF29CE484222325u).first->second;
    for (std::byte b : bytes) h = (h ^ static_cast<uint64_t>(b)) * 0x100000001B3u;
  }
  void print_digests() const {
    for (const auto& [key, h] : digests_)
      std::printf("digest %s %016llx\n", key.c_str(), static_cast<unsigned long long>(h));
  }
  int finish() const {
    if (refused_) std::printf("%zu optional combinations refused\n", refused_);
    std::printf("%zu passed, %zu failed\n", passed_, failed_);
    return failed_ == 0 && passed_ > 0 ? 0 : 1;
  }

 private:
  size_t passed_ = 0, failed_ = 0, refused_ = 0;
  std::map<std::string, uint64_t> digests_;
};

int run_test(const Options& options);
int run_threads(const Options& options);
int run_grad(const Options& options);
int run_bench(const Options& options);
int run_support(const Options& options);
int run_list(const Options& options);

// Sets the name that is printed if the running case crashes.
void set_current_name(const std::string& name);

}  // namespace spec
#endif
