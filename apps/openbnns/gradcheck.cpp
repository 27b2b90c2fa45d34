// openbnns gradcheck: are the gradients of a network right?
#include <fmt/format.h>
#include <openbnns/train.hpp>

#include <memory>

#include "commands.h"
#include "options.h"
#include "output.h"
#include "shape_option.h"

namespace program {
namespace {

using namespace bnns::train;

struct GradcheckArguments {
  std::string network;
  ShapeArguments shape;
  std::uint64_t seed = 1;
  double tolerance = 0.05;
  bool json = false;
};

int gradcheck(const GradcheckArguments& arguments) {
  const Network network = open_network(arguments.network, arguments.shape.resolved(),
                                       arguments.shape.outputs, OutputKind::softmax);
  const std::vector<GradientCheck> checks = check_gradients(network, arguments.seed);
  using enum Table::Align;
  Table table({left, right, right, right, left});
  table.add({"parameter", "gradient", "difference", "error", ""});
  std::size_t wrong = 0;
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const GradientCheck& check : checks) {
    const bool right_one = check.error <= arguments.tolerance;  // false for NaN
    if (!right_one) ++wrong;
    table.add({check.name, figure(check.gradient), figure(check.difference),
               fmt::format("{:.1e}", check.error), right_one ? "" : "WRONG"});
    list.push_back({{"name", check.name},
                    {"gradient", check.gradient},
                    {"difference", check.difference},
                    {"error", check.error}});
  }
  if (arguments.json) {
    print(json_line({{"network", arguments.network},
                     {"seed", arguments.seed},
                     {"tolerance", arguments.tolerance},
                     {"wrong", wrong},
                     {"checks", list}}));
  } else {
    print(table.text() + fmt::format("\n{} of {} gradients are right to within {}\n",
                                     checks.size() - wrong, checks.size(), arguments.tolerance));
  }
  return wrong > 0 ? kWrongGradient : kDone;
}

constexpr const char* kExamples = R"(Examples:
  openbnns gradcheck lenet
  openbnns gradcheck my-network.json --json

Every gradient of the backward pass, along a random direction, is compared with
differences of forward passes. The exit status is 8 if one of them is wrong.
)";

}  // namespace

void add_gradcheck(CLI::App& program, Command& chosen) {
  const auto arguments = std::make_shared<GradcheckArguments>();
  CLI::App& app = *program.add_subcommand("gradcheck", "Checks the gradients of a network");
  app.footer(kExamples);
  app.add_option("network", arguments->network, "mlp, lenet, resnet-mini, digits or a JSON file")
      ->required()
      ->type_name("NETWORK");
  add_shape_options(app, arguments->shape);
  app.add_option("--seed", arguments->seed, "of samples, weights and directions")
      ->type_name("NUMBER")
      ->capture_default_str();
  app.add_option("--tolerance", arguments->tolerance, "largest error of a right gradient")
      ->type_name("NUMBER")
      ->capture_default_str();
  app.add_flag("--json", arguments->json, "one line of JSON");
  app.callback([&chosen, arguments] { chosen = [arguments] { return gradcheck(*arguments); }; });
}

}  // namespace program
