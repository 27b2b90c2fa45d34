// Checkpoints: a model file with what else a run needs to go on with the same bits. Order of
// samples and random numbers follow from seed, epoch and step, and need no state of their own.
#include <fmt/format.h>

#include <limits>

#include "openbnns/openbnns.h"
#include "openbnns/train/error.hpp"
#include "train/files/json.h"
#include "train/files/model.h"
#include "train/files/safetensors.h"
#include "train/network/state.h"
#include "train/training/named_values.h"
#include "train/training/ranks.h"
#include "train/training/run_state.h"

namespace bnns::train::impl {
namespace {

using Json = nlohmann::json;

constexpr const char* kPrefix = "run.";
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

[[noreturn]] void fail(const std::string& where, const std::string& text) {
  throw Error(Error::Kind::model, where, text);
}

Json json_of(const EpochRecord& r) {
  const Metrics& v = r.validation;
  return {{"epoch", r.epoch},
          {"training loss", r.training_loss},
          {"training accuracy", r.training_accuracy},
          {"learning rate", r.learning_rate},
          {"best", r.is_best},
          {"validation",
           {{"samples", v.samples},
            {"loss", v.loss},
            {"right", v.right},
            {"accuracy", v.accuracy},
            {"mae", v.mean_absolute_error},
            {"rmse", v.root_mean_square_error},
            {"r2", v.r_squared}}}};
}

// Fields of an object that must be there; what is wrong is told with its name.
class Reader {
 public:
  Reader(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json.is_object()) fail(where_, "is not an object");
  }
  const Json& field(const char* name) const {
    const auto found = json_.find(name);
    if (found == json_.end()) fail(where_, fmt::format("the field \"{}\" is missing", name));
    return *found;
  }
  std::size_t integer(const char* name) const {
    const Json& value = field(name);
    if (!value.is_number_unsigned()) wrong(name, value);
    return value.get<std::size_t>();
  }
  double number(const char* name) const {
    const Json& value = field(name);
    if (!value.is_number()) wrong(name, value);
    return value.get<double>();
  }
  bool flag(const char* name) const {
    const Json& value = field(name);
    if (!value.is_boolean()) wrong(name, value);
    return value.get<bool>();
  }

 private:
  [[noreturn]] void wrong(const char* name, const Json& value) const {
    fail(where_, fmt::format("\"{}\" is {}", name, value.dump().substr(0, 60)));
  }
  const Json& json_;
  std::string where_;
};

EpochRecord record_of(const Json& json, const std::string& where) {
  const Reader r(json, where);
  const Reader v(r.field("validation"), where + ".validation");
  EpochRecord record = {.epoch = r.integer("epoch"),
                        .training_loss = r.number("training loss"),
                        .training_accuracy = r.number("training accuracy"),
                        .learning_rate = r.number("learning rate"),
                        .seconds = kUnknown,
                        .samples_per_second = kUnknown,
                        .is_best = r.flag("best")};
  record.validation.samples = v.integer("samples");
  record.validation.loss = v.number("loss");
  record.validation.right = v.integer("right");
  record.validation.accuracy = v.number("accuracy");
  record.validation.mean_absolute_error = v.number("mae");
  record.validation.root_mean_square_error = v.number("rmse");
  record.validation.r_squared = v.number("r2");
  return record;
}

// Everything that the arithmetic of a run depends on, but the network and its parameters.
NamedValues arithmetic_of(const TrainingOptions& options, const Data& training) {
  NamedValues values = values_of(options);
  append(values, values_of("training", training));
  return values;
}

void require_same_run(const Json& json, const NamedValues& wanted, const std::string& where) {
  NamedValues found;
  try {
    json.get_to(found);
  } catch (const Json::exception&) {
    fail(where, "run.arithmetic is not a list of names and values");
  }
  if (const auto difference = difference_of(wanted, found)) {
    fail(where, fmt::format("it is the checkpoint of another run: {} was {}, and is {} now",
                            difference->name, difference->second, difference->first));
  }
}

NamedTensor flat(const std::string& name, std::span<const float> values) {
  return NamedTensor::of(kPrefix + name, {values.size()}, values);
}

std::vector<float> flat_of(const TensorFile& content, const std::string& name, std::size_t count,
                           const std::string& where) {
  const NamedTensor* tensor = content.find(kPrefix + name);
  if (!tensor || tensor->count() != count) {
    fail(where, fmt::format("tensor \"{}{}\" has {} values; the run needs {}", kPrefix, name,
                            tensor ? tensor->count() : 0, count));
  }
  return tensor->floats();
}

// The content of the file as rank 0 has it.
TensorFile shared(TensorFile content, Communicator& ranks) {
  Json tensors = Json::array();
  for (const NamedTensor& tensor : content.tensors) {
    tensors.push_back({tensor.name, static_cast<int>(tensor.dtype), tensor.shape});
  }
  std::string text = Json({content.metadata, tensors}).dump();
  broadcast_text(ranks, text);
  const Json json = Json::parse(text);
  json[0].get_to(content.metadata);
  content.tensors.resize(json[1].size());
  for (std::size_t k = 0; k < content.tensors.size(); ++k) {
    NamedTensor& tensor = content.tensors[k];
    tensor.name = json[1][k][0].get<std::string>();
    tensor.dtype = static_cast<DType>(json[1][k][1].get<int>());
    tensor.shape = json[1][k][2].get<std::vector<std::size_t>>();
    tensor.data.resize(*bytes_of(tensor.dtype, tensor.shape));
    broadcast_values(ranks, std::span<std::byte>(tensor.data));
  }
  return content;
}

}  // namespace

void RunState::save(Network& network, const Data& training, const TrainingOptions& options) const {
  TensorFile content = model_content(network);
  Json list = Json::array();
  for (const EpochRecord& record : records) list.push_back(json_of(record));
  const Json run = {{"epoch", epoch},     {"step", step},
                    {"loss", loss},       {"right", right},
                    {"samples", samples}, {"records", list},
                    {"best", best_epoch}, {"target", OpenBNNSGetTarget()}};
  content.metadata["run"] = run.dump();
  content.metadata["run.arithmetic"] = Json(arithmetic_of(options, training)).dump();
  const std::vector<Tensor>& moments = optimizer_.moments();
  for (std::size_t k = 0; k < moments.size(); ++k) {
    content.tensors.push_back(flat("moments." + std::to_string(k), moments[k].values()));
  }
  if (has_best()) {
    content.tensors.push_back(flat("best.weights", best_weights_));
    content.tensors.push_back(flat("best.state", best_state_));
  }
  write_safetensors(options.checkpoint, content);
}

void RunState::load(Network& network, const Data& training, const TrainingOptions& options) {
  Communicator* const ranks = options.communicator;
  TensorFile content;
  // A file that is refused is so before the others have it: one rank says why, and ends them.
  if (!ranks || ranks->rank() == 0) {
    content = read_safetensors(options.checkpoint);
    restore(content, network, training, options);
  }
  if (!ranks) return;
  content = shared(std::move(content), *ranks);
  if (ranks->rank() != 0) restore(content, network, training, options);
}

void RunState::restore(const TensorFile& content, Network& network, const Data& training,
                       const TrainingOptions& options) {
  const std::string& where = options.checkpoint;
  const auto text = content.metadata.find("run"),
             arithmetic = content.metadata.find("run.arithmetic");
  if (text == content.metadata.end() || arithmetic == content.metadata.end()) {
    fail(where, "it is a model and no checkpoint; there is no run in it to go on with");
  }
  require_same_run(parse_json(arithmetic->second, where + ": run.arithmetic", Error::Kind::model),
                   arithmetic_of(options, training), where);
  Network found = network_of(content, where, kPrefix);
  if (!(found.description() == network.description())) {
    fail(where, "it is the checkpoint of another network");
  }
  const Json json = parse_json(text->second, where + ": run", Error::Kind::model);
  const Reader run(json, where + ": run");
  std::vector<EpochRecord> read;
  if (!run.field("records").is_array()) fail(where, "run.records is not a list");
  for (const Json& record : run.field("records")) {
    read.push_back(record_of(record, where + ": run.records"));
  }
  if (read.size() != run.integer("epoch") || run.integer("best") > read.size()) {
    fail(where, fmt::format("it has records of {} epochs, is in epoch {}, its best one is {}",
                            read.size(), run.integer("epoch") + 1, run.integer("best")));
  }
  const Json& target = run.field("target");
  if (!target.is_string()) fail(where, "run.target is no text");
  const std::size_t count = parameters_.weights().count();
  std::vector<std::vector<float>> moments;
  for (std::size_t k = 0; k < optimizer_.moments().size(); ++k) {
    moments.push_back(flat_of(content, "moments." + std::to_string(k), count, where));
  }
  if (run.integer("best") > 0) {
    best_weights_ = flat_of(content, "best.weights", count, where);
    best_state_ = flat_of(content, "best.state", parameters_.state().count(), where);
  }
  // Nothing fails from here on.
  for (std::size_t k = 0; k < moments.size(); ++k) optimizer_.moments()[k].copy_from(moments[k]);
  parameters_.weights().copy_from(found.state().parameters().weights().values());
  parameters_.state().copy_from(found.state().parameters().state().values());
  epoch = run.integer("epoch");
  step = run.integer("step");
  loss = run.number("loss");
  right = run.integer("right");
  samples = run.integer("samples");
  best_epoch = run.integer("best");
  records = std::move(read);
  loaded_target_ = target.get<std::string>();
}

}  // namespace bnns::train::impl
