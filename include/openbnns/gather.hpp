// Elements of arrays that indices choose: gather copies them out, scatter combines values into
// them.
#ifndef OPENBNNS_GATHER_HPP
#define OPENBNNS_GATHER_HPP

#include <cstddef>
#include <cstdint>

#include "functions.hpp"

namespace bnns {

// How scatter combines a value with the one that is there.
enum class ScatterFunction : std::uint32_t {
  none = BNNSReduceFunctionNone,  // replaces it
  sum = BNNSReduceFunctionSum,
};

// output(.., i, ..) = input(.., index, ..) along the axis. The index is indices(i), or
// indices(.., i, ..) for indices of the shape of output.
inline void gather(const Descriptor& input, const Descriptor& indices, Descriptor output,
                   std::size_t axis, const FilterParameters& filter_parameters = {}) {
  const BNNSFilterParameters native = detail::native(filter_parameters);
  detail::require_one_sample_each("gather",
                                  {{"input", input}, {"indices", indices}, {"output", output}});
  detail::check_apply(BNNSGather(axis, &input, &indices, &output, &native), "gather");
}

// output(.., index, ..) is combined with input(.., i, ..).
inline void scatter(const Descriptor& input, const Descriptor& indices, Descriptor output,
                    std::size_t axis, ScatterFunction function = ScatterFunction::none,
                    const FilterParameters& filter_parameters = {}) {
  const BNNSFilterParameters native = detail::native(filter_parameters);
  detail::require_one_sample_each("scatter",
                                  {{"input", input}, {"indices", indices}, {"output", output}});
  detail::check_apply(BNNSScatter(axis, static_cast<BNNSReduceFunction>(function), &input, &indices,
                                  &output, &native),
                      "scatter");
}

// The last axis of indices holds coordinates for the first axes of input.
inline void gather_nd(const Descriptor& input, const Descriptor& indices, Descriptor output,
                      const FilterParameters& filter_parameters = {}) {
  const BNNSFilterParameters native = detail::native(filter_parameters);
  detail::require_one_sample_each("gather_nd",
                                  {{"input", input}, {"indices", indices}, {"output", output}});
  detail::check_apply(BNNSGatherND(&input, &indices, &output, &native), "gather_nd");
}

// The last axis of indices holds coordinates for the first axes of output.
inline void scatter_nd(const Descriptor& input, const Descriptor& indices, Descriptor output,
                       ScatterFunction function = ScatterFunction::none,
                       const FilterParameters& filter_parameters = {}) {
  const BNNSFilterParameters native = detail::native(filter_parameters);
  detail::require_one_sample_each("scatter_nd",
                                  {{"input", input}, {"indices", indices}, {"output", output}});
  detail::check_apply(
      BNNSScatterND(static_cast<BNNSReduceFunction>(function), &input, &indices, &output, &native),
      "scatter_nd");
}

}  // namespace bnns

#endif
