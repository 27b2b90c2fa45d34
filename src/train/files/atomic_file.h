// Replaces a file as a whole: whoever opens the path sees the old content or the new one, never a
// part, whatever happens in between (full disk, kill, power cut).
//
// The bytes go to a temporary file in the same folder (".openbnns-<random>.tmp"), which is flushed
// to the disk and renamed over the path; then the folder is flushed. A failure removes the
// temporary file and leaves the existing one as it was; only a killed process leaves a temporary
// file behind.
#ifndef OPENBNNS_TRAIN_FILES_ATOMIC_FILE_H
#define OPENBNNS_TRAIN_FILES_ATOMIC_FILE_H

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace bnns::train::impl {

// Writes the parts one after the other. A symbolic link stays, and the file it leads to is
// replaced; a replaced file keeps its permissions, a new one gets those of the umask. What exists
// and is no regular file, or may not be written, is refused. Throws Error of kind `file`.
void write_file_atomically(const std::filesystem::path& path,
                           std::span<const std::span<const std::byte>> parts);
void write_file_atomically(const std::filesystem::path& path, std::string_view text);

}  // namespace bnns::train::impl

#endif
