// The files that a run of training writes, and whether they can be written.
#ifndef APPS_OPENBNNS_RUN_FILES_H
#define APPS_OPENBNNS_RUN_FILES_H

#include <cstddef>
#include <string>

namespace program {

struct RunFiles {
  std::string model = "openbnns-model.safetensors";
  // Empty: beside the model, with another ending. "none": not written.
  std::string report, log, checkpoint;

  // Fills in names; what is "none" becomes empty. Throws Error if two are the same.
  void resolve();
  // Throws Error of kind file if a folder is missing or read-only, if a name is that of a folder,
  // or if the disk has no room for `bytes`. Leaves nothing behind.
  void require_writable(std::size_t bytes) const;
};

}  // namespace program

#endif
