// The functions of the C API that no layer provides yet. Each one fails, writes nothing and says so
// in the last error, so a program links today and learns at run time what is missing.
// Who adds a layer removes its functions from this file.

#include <cstdint>

#include "api/boundary.h"
#include "openbnns/bnns.h"

namespace boundary = bnns::impl::boundary;

// ---- Permute, padding, resize, dropout, reduction, embedding, quantization ----

extern "C" BNNSFilter BNNSFilterCreateLayerPermute(const BNNSLayerParametersPermute*,
                                                   const BNNSFilterParameters*) {
  return boundary::not_implemented("BNNSFilterCreateLayerPermute", nullptr);
}

extern "C" int BNNSPermuteFilterApplyBackwardBatch(BNNSFilter, size_t, BNNSNDArrayDescriptor*,
                                                   size_t, const BNNSNDArrayDescriptor*, size_t) {
  return boundary::not_implemented("BNNSPermuteFilterApplyBackwardBatch", -1);
}

extern "C" BNNSFilter BNNSFilterCreateLayerPadding(const BNNSLayerParametersPadding*,
                                                   const BNNSFilterParameters*) {
  return boundary::not_implemented("BNNSFilterCreateLayerPadding", nullptr);
}

extern "C" BNNSFilter BNNSFilterCreateLayerResize(const BNNSLayerParametersResize*,
                                                  const BNNSFilterParameters*) {
  return boundary::not_implemented("BNNSFilterCreateLayerResize", nullptr);
}

extern "C" BNNSFilter BNNSFilterCreateLayerDropout(const BNNSLayerParametersDropout*,
                                                   const BNNSFilterParameters*) {
  return boundary::not_implemented("BNNSFilterCreateLayerDropout", nullptr);
}

extern "C" BNNSFilter BNNSFilterCreateLayerReduction(const BNNSLayerParametersReduction*,
                                                     const BNNSFilterParameters*) {
  return boundary::not_implemented("BNNSFilterCreateLayerReduction", nullptr);
}

extern "C" int BNNSDirectApplyReduction(const BNNSLayerParametersReduction*,
                                        const BNNSFilterParameters*) {
  return boundary::not_implemented("BNNSDirectApplyReduction", -1);
}

extern "C" BNNSFilter BNNSFilterCreateLayerEmbedding(const BNNSLayerParametersEmbedding*,
                                                     const BNNSFilterParameters*) {
  return boundary::not_implemented("BNNSFilterCreateLayerEmbedding", nullptr);
}

// ---- LSTM ----

extern "C" size_t BNNSComputeLSTMTrainingCacheCapacity(const BNNSLayerParametersLSTM*) {
  return boundary::not_implemented("BNNSComputeLSTMTrainingCacheCapacity", SIZE_MAX);
}

extern "C" int BNNSDirectApplyLSTMBatchTrainingCaching(const BNNSLayerParametersLSTM*,
                                                       const BNNSFilterParameters*, void*, size_t) {
  return boundary::not_implemented("BNNSDirectApplyLSTMBatchTrainingCaching", -1);
}

extern "C" int BNNSDirectApplyLSTMBatchBackward(const BNNSLayerParametersLSTM*,
                                                const BNNSLayerParametersLSTM*,
                                                const BNNSFilterParameters*, const void*, size_t) {
  return boundary::not_implemented("BNNSDirectApplyLSTMBatchBackward", -1);
}

// ---- Direct tensor operations ----

extern "C" int BNNSCompareTensor(const BNNSNDArrayDescriptor*, const BNNSNDArrayDescriptor*,
                                 BNNSRelationalOperator, BNNSNDArrayDescriptor*) {
  return boundary::not_implemented("BNNSCompareTensor", -1);
}

extern "C" int BNNSDirectApplyTopK(size_t, size_t, size_t, const BNNSNDArrayDescriptor*, size_t,
                                   BNNSNDArrayDescriptor*, size_t, BNNSNDArrayDescriptor*, size_t,
                                   const BNNSFilterParameters*) {
  return boundary::not_implemented("BNNSDirectApplyTopK", -1);
}

extern "C" int BNNSDirectApplyInTopK(size_t, size_t, size_t, const BNNSNDArrayDescriptor*, size_t,
                                     const BNNSNDArrayDescriptor*, size_t, BNNSNDArrayDescriptor*,
                                     size_t, const BNNSFilterParameters*) {
  return boundary::not_implemented("BNNSDirectApplyInTopK", -1);
}

extern "C" int BNNSGather(size_t, const BNNSNDArrayDescriptor*, const BNNSNDArrayDescriptor*,
                          BNNSNDArrayDescriptor*, const BNNSFilterParameters*) {
  return boundary::not_implemented("BNNSGather", -1);
}

extern "C" int BNNSScatter(size_t, BNNSReduceFunction, const BNNSNDArrayDescriptor*,
                           const BNNSNDArrayDescriptor*, BNNSNDArrayDescriptor*,
                           const BNNSFilterParameters*) {
  return boundary::not_implemented("BNNSScatter", -1);
}

extern "C" int BNNSGatherND(const BNNSNDArrayDescriptor*, const BNNSNDArrayDescriptor*,
                            BNNSNDArrayDescriptor*, const BNNSFilterParameters*) {
  return boundary::not_implemented("BNNSGatherND", -1);
}

extern "C" int BNNSScatterND(BNNSReduceFunction, const BNNSNDArrayDescriptor*,
                             const BNNSNDArrayDescriptor*, BNNSNDArrayDescriptor*,
                             const BNNSFilterParameters*) {
  return boundary::not_implemented("BNNSScatterND", -1);
}

extern "C" int BNNSTile(const BNNSNDArrayDescriptor*, BNNSNDArrayDescriptor*,
                        const BNNSFilterParameters*) {
  return boundary::not_implemented("BNNSTile", -1);
}

extern "C" int BNNSTileBackward(BNNSNDArrayDescriptor*, const BNNSNDArrayDescriptor*,
                                const BNNSFilterParameters*) {
  return boundary::not_implemented("BNNSTileBackward", -1);
}

extern "C" int BNNSShuffle(BNNSShuffleType, const BNNSNDArrayDescriptor*, BNNSNDArrayDescriptor*,
                           const BNNSFilterParameters*) {
  return boundary::not_implemented("BNNSShuffle", -1);
}

extern "C" int BNNSBandPart(int, int, const BNNSNDArrayDescriptor*, BNNSNDArrayDescriptor*,
                            const BNNSFilterParameters*) {
  return boundary::not_implemented("BNNSBandPart", -1);
}

extern "C" int BNNSCropResize(const BNNSLayerParametersCropResize*, const BNNSNDArrayDescriptor*,
                              const BNNSNDArrayDescriptor*, BNNSNDArrayDescriptor*,
                              const BNNSFilterParameters*) {
  return boundary::not_implemented("BNNSCropResize", -1);
}

extern "C" int BNNSCropResizeBackward(const BNNSLayerParametersCropResize*, BNNSNDArrayDescriptor*,
                                      const BNNSNDArrayDescriptor*, const BNNSNDArrayDescriptor*,
                                      const BNNSFilterParameters*) {
  return boundary::not_implemented("BNNSCropResizeBackward", -1);
}

// ---- Nearest neighbours ----

extern "C" BNNSNearestNeighbors BNNSCreateNearestNeighbors(unsigned int, unsigned int, unsigned int,
                                                           BNNSDataType,
                                                           const BNNSFilterParameters*) {
  return boundary::not_implemented("BNNSCreateNearestNeighbors", nullptr);
}

// NULL is accepted; no other handle can exist yet.
extern "C" void BNNSDestroyNearestNeighbors(BNNSNearestNeighbors handle) {
  if (handle != nullptr)
    static_cast<void>(boundary::not_implemented("BNNSDestroyNearestNeighbors", 0));
}

extern "C" int BNNSNearestNeighborsLoad(BNNSNearestNeighbors, unsigned int, const void*) {
  return boundary::not_implemented("BNNSNearestNeighborsLoad", -1);
}

extern "C" int BNNSNearestNeighborsGetInfo(BNNSNearestNeighbors, int, int*, void*) {
  return boundary::not_implemented("BNNSNearestNeighborsGetInfo", -1);
}

// ---- Sparse weights ----

extern "C" int BNNSNDArrayFullyConnectedSparsifySparseCOO(
    const BNNSNDArrayDescriptor*, const BNNSNDArrayDescriptor*, const BNNSNDArrayDescriptor*,
    BNNSNDArrayDescriptor*, const BNNSSparsityParameters*, size_t, void*, size_t,
    const BNNSFilterParameters*) {
  return boundary::not_implemented("BNNSNDArrayFullyConnectedSparsifySparseCOO", -1);
}

extern "C" int BNNSNDArrayFullyConnectedSparsifySparseCSR(
    const BNNSNDArrayDescriptor*, const BNNSNDArrayDescriptor*, const BNNSNDArrayDescriptor*,
    const BNNSNDArrayDescriptor*, BNNSNDArrayDescriptor*, const BNNSSparsityParameters*, size_t,
    void*, size_t, const BNNSFilterParameters*) {
  return boundary::not_implemented("BNNSNDArrayFullyConnectedSparsifySparseCSR", -1);
}
