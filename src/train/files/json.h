// JSON of unknown origin as values of nlohmann::json. The rules are those of JsonReader; a key that
// appears twice in an object is refused.
#ifndef OPENBNNS_TRAIN_FILES_JSON_H
#define OPENBNNS_TRAIN_FILES_JSON_H

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "train/files/json_reader.h"

namespace bnns::train::impl {

// `where` goes in front of what a failure says: a file, or what the text is.
nlohmann::json parse_json(std::string_view text, const std::string& where, Error::Kind kind,
                          const JsonLimits& limits = {});
nlohmann::json read_json_file(const std::filesystem::path& path, Error::Kind kind,
                              const JsonLimits& limits = {});

}  // namespace bnns::train::impl

#endif
