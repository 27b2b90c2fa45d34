// BNNSLayerParametersArithmetic -> ArithmeticProblem. All tensors have the same layout; each size
// of an input is that of the output, or 1.
#include "layers/activation.h"
#include "layers/arithmetic.h"

namespace bnns::impl {
namespace {

constexpr const char* kFields[kMaxArithmeticInputs][kMaxArithmeticInputs] = {
    {"in"}, {"in1", "in2"}, {"in1", "in2", "in3"}};
constexpr const char* kRoles[] = {"Constant", "Sample", "Parameter"};

// The tensors of the client's structure, whatever their number.
struct Fields {
  const BNNSNDArrayDescriptor* in[kMaxArithmeticInputs] = {};
  BNNSDescriptorType in_type[kMaxArithmeticInputs] = {};
  const BNNSNDArrayDescriptor* out = nullptr;
  BNNSDescriptorType out_type = BNNSSample;
};

Fields fields_of(size_t inputs, const void* given) {
  if (inputs == 1) {
    const auto& f = *static_cast<const BNNSArithmeticUnary*>(given);
    return {.in = {&f.in}, .in_type = {f.in_type}, .out = &f.out, .out_type = f.out_type};
  }
  if (inputs == 2) {
    const auto& f = *static_cast<const BNNSArithmeticBinary*>(given);
    return {.in = {&f.in1, &f.in2},
            .in_type = {f.in1_type, f.in2_type},
            .out = &f.out,
            .out_type = f.out_type};
  }
  const auto& f = *static_cast<const BNNSArithmeticTernary*>(given);
  return {.in = {&f.in1, &f.in2, &f.in3},
          .in_type = {f.in1_type, f.in2_type, f.in3_type},
          .out = &f.out,
          .out_type = f.out_type};
}

void check_tensor(const Descriptor& d, const char* field, bool boolean) {
  require_plain_layout(d, field);
  const bool truth = boolean && d.type->kind == TypeClass::kBoolean;
  require(truth || d.type->kind == TypeClass::kFloat, field, ".data_type is ", d.type->name,
          boolean ? "; it must be Boolean, Float32, Float16 or BFloat16"
                  : "; arithmetic takes Float32, Float16 and BFloat16");
}

void check_role(BNNSDescriptorType type, const char* field) {
  require(static_cast<size_t>(type) < std::size(kRoles), field, "_type is ",
          static_cast<uint32_t>(type), "; that is no BNNSDescriptorType");
}

void check_broadcast(const Descriptor& in, const char* field, const Descriptor& out) {
  bool fits = in.layout == out.layout;
  for (size_t k = 0; fits && k < in.rank(); ++k)
    fits = in.size[k] == out.size[k] || in.size[k] == 1;
  if (!fits) {
    fail(field, " is ", describe(in), ", but out is ", describe(out),
         "; the layouts must be equal, and each size that of out or 1");
  }
}

}  // namespace

const char* ArithmeticParameters::field(size_t input) const {
  return kFields[inputs() - 1][input];
}

ArithmeticParameters read_arithmetic(const BNNSLayerParametersArithmetic* given) {
  require(given != nullptr, "layer_params is NULL");
  ArithmeticParameters p;
  ArithmeticProblem& problem = p.problem;
  problem.function = find_arithmetic(given->arithmetic_function);
  require(problem.function != nullptr, "arithmetic_function is ",
          static_cast<uint32_t>(given->arithmetic_function), "; that is no BNNSArithmeticFunction");
  require(given->arithmetic_function_fields != nullptr, "arithmetic_function_fields is NULL; ",
          problem.function->name, " needs the descriptors of its tensors");
  const Fields f = fields_of(p.inputs(), given->arithmetic_function_fields);
  for (size_t k = 0; k < p.inputs(); ++k) {
    const char* field = p.field(k);
    p.in[k] = read_descriptor(*f.in[k], field, Use::kInput);
    check_tensor(p.in[k], field, k == 0 && problem.function->function == BNNSArithmeticSelect);
    check_role(f.in_type[k], field);
  }
  p.out = read_descriptor(*f.out, "out", Use::kOutput);
  check_tensor(p.out, "out", false);
  check_role(f.out_type, "out");
  for (size_t k = 0; k < p.inputs(); ++k) {
    check_broadcast(p.in[k], p.field(k), p.out);
    require(f.out_type == BNNSSample || f.in_type[k] != BNNSSample, "out_type is ",
            kRoles[f.out_type], ", but ", p.field(k),
            "_type is Sample; what is computed from samples must be Sample");
    problem.in[k] = p.in[k].view;
    problem.in_type[k] = f.in_type[k];
  }
  problem.out = p.out.view;
  problem.out_type = f.out_type;
  const ActivationInfo& row = read_activation(given->activation);
  require(row.kind != ActivationClass::kChannel && row.kind != ActivationClass::kInteger,
          "activation.function is ", row.name,
          "; it exists only as an activation filter of its own");
  problem.activation = FusedActivation(row, coefficients_of(given->activation));
  return p;
}

}  // namespace bnns::impl
