// Model files: what is saved is what is loaded, and files that do not fit their network.
#include <gtest/gtest.h>
#include <openbnns/openbnns.h>
#include <openbnns/train.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "files/support.h"
#include "train/files/safetensors.h"

namespace bnns::train {
namespace {

TEST(Model, SavedAndLoadedPredictsTheSameBits) {
  const test::TemporaryFolder folder;
  const std::string file = (folder.path() / "model.safetensors").string();
  const Data training = synthetic_digits(203, 1), validation = synthetic_digits(70, 2);
  Network network = Network::image(28, 28)
                        .convolution(3, 3, {.stride = 2})
                        .transposed_convolution(2, 3)
                        .layer_norm()
                        .activation("silu")
                        .flatten()
                        .softmax_classifier(10);
  fit(network, training, {}, {.epochs = 1});
  network.info().notes["command"] = "a test";
  network.info().class_names[3] = "three \xc3\xa4";
  network.save(file);
  Network loaded = Network::load(file);
  EXPECT_EQ(loaded.description(), network.description());
  EXPECT_EQ(loaded.info().class_names, network.info().class_names);
  EXPECT_EQ(loaded.info().notes, network.info().notes);
  EXPECT_EQ(loaded.info().notes.at("target"), OpenBNNSGetTarget());
  EXPECT_EQ(predict(loaded, validation), predict(network, validation));
}

TEST(Model, NamesThatAreNoTextAreSavedAsText) {
  const test::TemporaryFolder folder;
  const std::string file = (folder.path() / "model").string();
  Network network = Network::table(2).softmax_classifier(2);
  network.info().class_names = {"\xff\xfe", "b"};
  network.info().notes["command"] = "\x80";
  network.save(file);
  const Network loaded = Network::load(file);
  EXPECT_EQ(loaded.info().class_names.size(), 2u);
  EXPECT_EQ(loaded.info().class_names[1], "b");
}

TEST(Model, RefusesWhatDoesNotFitItsNetwork) {
  const test::TemporaryFolder folder;
  const std::string file = (folder.path() / "model").string();
  Network network = Network::table(2).fully_connected(3).relu().softmax_classifier(2);
  network.info().class_names = {"a", "b"};
  network.save(file);
  const impl::TensorFile good = impl::read_safetensors(file);
  const auto failure_of = [&](const std::function<void(impl::TensorFile&)>& change) {
    impl::TensorFile changed = good;
    change(changed);
    impl::write_safetensors(file, changed);
    try {
      Network::load(file);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::model);
      return std::string(error.what());
    }
    return std::string("no failure");
  };
  const std::pair<std::function<void(impl::TensorFile&)>, const char*> cases[] = {
      {[](auto& f) { f.metadata.erase("format"); }, "no text \"format\""},
      {[](auto& f) { f.metadata["format"] = "9"; }, "format is \"9\""},
      {[](auto& f) { f.metadata["network"] = "{}"; }, "must be given"},
      {[](auto& f) { f.metadata["task"] = "both"; }, "task is \"both\""},
      {[](auto& f) { f.metadata["class_names"] = "[1, 2]"; }, "not a list of names"},
      {[](auto& f) { f.metadata["class_names"] = "[\"a\"]"; }, "names 1 outputs"},
      {[](auto& f) { f.metadata["seed"] = "-1"; }, "seed is not a number"},
      {[](auto& f) { f.metadata["preprocessing"] = "[]"; }, "preprocessing"},
      {[](auto& f) { f.tensors.pop_back(); }, "parameters; its network has"},
      {[](auto& f) {
         f.tensors[0].shape = {2, 3};
       },
       "has the shape [2, 3]; the network needs"},
      {[](auto& f) { f.tensors[0].name = "x"; }, "there is no tensor \"0.weight\""},
  };
  for (const auto& [change, text] : cases) {
    const std::string failure = failure_of(change);
    EXPECT_NE(failure.find(text), std::string::npos) << failure;
    EXPECT_EQ(failure.rfind(file, 0), 0u) << failure;
  }
}

}  // namespace
}  // namespace bnns::train
