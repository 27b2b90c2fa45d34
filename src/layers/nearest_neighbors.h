// Tables of samples that are asked for the nearest neighbours of their samples.
#pragma once

#include "openbnns/bnns.h"

namespace bnns::impl {

BNNSNearestNeighbors make_nearest_neighbors(unsigned int max_samples, unsigned int features,
                                            unsigned int neighbors, BNNSDataType type,
                                            const BNNSFilterParameters* filter_parameters);
void destroy_nearest_neighbors(BNNSNearestNeighbors handle);
void load_nearest_neighbors(BNNSNearestNeighbors handle, unsigned int new_samples,
                            const void* data);
void get_nearest_neighbors(BNNSNearestNeighbors handle, int sample, int* indices, void* distances);

}  // namespace bnns::impl
