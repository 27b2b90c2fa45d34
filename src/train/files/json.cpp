#include "train/files/json.h"

#include <utility>
#include <variant>

#include "train/files/input_file.h"
#include "train/files/text.h"

namespace bnns::train::impl {
namespace {

nlohmann::json read_value(JsonReader& reader) {
  nlohmann::json value;
  switch (reader.next()) {
    case JsonReader::Value::object:
      value = nlohmann::json::object();
      reader.object([&](const JsonString& key) {
        const auto [place, is_new] = value.emplace(key.text(), nullptr);
        if (!is_new) reader.fail("key " + in_quotes(place.key()) + " appears twice in this object");
        place.value() = read_value(reader);
      });
      break;
    case JsonReader::Value::array:
      value = nlohmann::json::array();
      reader.array([&] { value.push_back(read_value(reader)); });
      break;
    case JsonReader::Value::string:
      value = reader.string().text();
      break;
    case JsonReader::Value::number:
      value = std::visit([](auto number) { return nlohmann::json(number); }, reader.number());
      break;
    case JsonReader::Value::boolean:
      value = reader.boolean();
      break;
    case JsonReader::Value::null:
      reader.null();
      break;
  }
  return value;
}

}  // namespace

nlohmann::json parse_json(std::string_view text, const std::string& where, Error::Kind kind,
                          const JsonLimits& limits) {
  JsonReader reader(text, where, kind, limits);
  nlohmann::json value = read_value(reader);
  reader.finish();
  return value;
}

nlohmann::json read_json_file(const std::filesystem::path& path, Error::Kind kind,
                              const JsonLimits& limits) {
  return parse_json(read_text_file(path, limits.bytes), path.string(), kind, limits);
}

}  // namespace bnns::train::impl
