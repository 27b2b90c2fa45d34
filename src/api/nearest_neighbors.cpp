// Nearest neighbours.
#include "layers/nearest_neighbors.h"

#include "api/boundary.h"

using namespace bnns::impl;

extern "C" {

BNNSNearestNeighbors BNNSCreateNearestNeighbors(unsigned int max_n_samples, unsigned int n_features,
                                                unsigned int n_neighbors, BNNSDataType data_type,
                                                const BNNSFilterParameters* filter_params) {
  return boundary::handle("BNNSCreateNearestNeighbors", [&] {
    return make_nearest_neighbors(max_n_samples, n_features, n_neighbors, data_type, filter_params);
  });
}

void BNNSDestroyNearestNeighbors(BNNSNearestNeighbors knn) {
  boundary::status("BNNSDestroyNearestNeighbors", [&] { destroy_nearest_neighbors(knn); });
}

int BNNSNearestNeighborsLoad(BNNSNearestNeighbors knn, unsigned int n_new_samples,
                             const void* data_ptr) {
  return boundary::status("BNNSNearestNeighborsLoad",
                          [&] { load_nearest_neighbors(knn, n_new_samples, data_ptr); });
}

int BNNSNearestNeighborsGetInfo(BNNSNearestNeighbors knn, int sample_number, int* indices,
                                void* distances) {
  return boundary::status("BNNSNearestNeighborsGetInfo",
                          [&] { get_nearest_neighbors(knn, sample_number, indices, distances); });
}

}  // extern "C"
