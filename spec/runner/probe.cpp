// Finds out which functions of the interface are implemented: calls each one with empty arguments
// and reads the reason it gives for failing.
#include "runner/probe.h"

#include <cstring>

#include <openbnns/openbnns.h>

namespace spec {
namespace {

struct Row {
  const char* name;
  std::function<void()> call;
  const char* created_by;  // a destructor accepts null, so it counts as its creator does
};

template <class R, class... A>
Row row(const char* name, R (*function)(A...), const char* created_by = nullptr) {
  return {name, [function] { static_cast<void>(function(A{}...)); }, created_by};
}

// In the order in which the headers declare them.
const std::vector<Row>& rows() {
  static const std::vector<Row> table = {
      row("BNNSFilterCreateLayerConvolution", BNNSFilterCreateLayerConvolution),
      row("BNNSFilterCreateLayerTransposedConvolution", BNNSFilterCreateLayerTransposedConvolution),
      row("BNNSFilterCreateLayerFullyConnected", BNNSFilterCreateLayerFullyConnected),
      row("BNNSFilterCreateLayerPooling", BNNSFilterCreateLayerPooling),
      row("BNNSFilterCreateLayerActivation", BNNSFilterCreateLayerActivation),
      row("BNNSFilterCreateLayerLoss", BNNSFilterCreateLayerLoss),
      row("BNNSFilterCreateLayerNormalization", BNNSFilterCreateLayerNormalization),
      row("BNNSFilterCreateLayerArithmetic", BNNSFilterCreateLayerArithmetic),
      row("BNNSFilterCreateLayerPermute", BNNSFilterCreateLayerPermute),
      row("BNNSFilterCreateLayerDropout", BNNSFilterCreateLayerDropout),
      row("BNNSFilterCreateLayerPadding", BNNSFilterCreateLayerPadding),
      row("BNNSFilterCreateLayerBroadcastMatMul", BNNSFilterCreateLayerBroadcastMatMul),
      row("BNNSFilterCreateLayerTensorContraction", BNNSFilterCreateLayerTensorContraction),
      row("BNNSFilterCreateLayerGram", BNNSFilterCreateLayerGram),
      row("BNNSFilterCreateLayerResize", BNNSFilterCreateLayerResize),
      row("BNNSFilterCreateLayerMultiheadAttention", BNNSFilterCreateLayerMultiheadAttention),
      row("BNNSFilterCreateLayerReduction", BNNSFilterCreateLayerReduction),
      row("BNNSFilterCreateLayerEmbedding", BNNSFilterCreateLayerEmbedding),
      row("BNNSFilterCreateFusedLayer", BNNSFilterCreateFusedLayer),
      row("BNNSFilterApply", BNNSFilterApply),
      row("BNNSFilterApplyBatch", BNNSFilterApplyBatch),
      row("BNNSFilterApplyTwoInput", BNNSFilterApplyTwoInput),
      row("BNNSFilterApplyTwoInputBatch", BNNSFilterApplyTwoInputBatch),
      row("BNNSPoolingFilterApplyBatch", BNNSPoolingFilterApplyBatch),
      row("BNNSPoolingFilterApplyBatchEx", BNNSPoolingFilterApplyBatchEx),
      row("BNNSNormalizationFilterApplyBatch", BNNSNormalizationFilterApplyBatch),
      row("BNNSFusedFilterApplyBatch", BNNSFusedFilterApplyBatch),
      row("BNNSFusedFilterApplyMultiInputBatch", BNNSFusedFilterApplyMultiInputBatch),
      row("BNNSArithmeticFilterApplyBatch", BNNSArithmeticFilterApplyBatch),
      row("BNNSApplyMultiheadAttention", BNNSApplyMultiheadAttention),
      row("BNNSDirectApplyQuantizer", BNNSDirectApplyQuantizer),
      row("BNNSFilterDestroy", BNNSFilterDestroy, "BNNSFilterCreateLayerActivation"),
      row("BNNSOptimizerStep", BNNSOptimizerStep),
      row("BNNSClipByValue", BNNSClipByValue),
      row("BNNSClipByNorm", BNNSClipByNorm),
      row("BNNSClipByGlobalNorm", BNNSClipByGlobalNorm),
      row("BNNSComputeNorm", BNNSComputeNorm),
      row("BNNSComputeNormBackward", BNNSComputeNormBackward),
      row("BNNSFilterApplyBackwardBatch", BNNSFilterApplyBackwardBatch),
      row("BNNSPoolingFilterApplyBackwardBatch", BNNSPoolingFilterApplyBackwardBatch),
      row("BNNSPoolingFilterApplyBackwardBatchEx", BNNSPoolingFilterApplyBackwardBatchEx),
      row("BNNSFilterApplyBackwardTwoInputBatch", BNNSFilterApplyBackwardTwoInputBatch),
      row("BNNSNormalizationFilterApplyBackwardBatch", BNNSNormalizationFilterApplyBackwardBatch),
      row("BNNSFusedFilterApplyBackwardBatch", BNNSFusedFilterApplyBackwardBatch),
      row("BNNSFusedFilterApplyBackwardMultiInputBatch",
          BNNSFusedFilterApplyBackwardMultiInputBatch),
      row("BNNSArithmeticFilterApplyBackwardBatch", BNNSArithmeticFilterApplyBackwardBatch),
      row("BNNSPermuteFilterApplyBackwardBatch", BNNSPermuteFilterApplyBackwardBatch),
      row("BNNSLossFilterApplyBatch", BNNSLossFilterApplyBatch),
      row("BNNSLossFilterApplyBackwardBatch", BNNSLossFilterApplyBackwardBatch),
      row("BNNSApplyMultiheadAttentionBackward", BNNSApplyMultiheadAttentionBackward),
      row("BNNSComputeLSTMTrainingCacheCapacity", BNNSComputeLSTMTrainingCacheCapacity),
      row("BNNSDirectApplyLSTMBatchTrainingCaching", BNNSDirectApplyLSTMBatchTrainingCaching),
      row("BNNSDirectApplyLSTMBatchBackward", BNNSDirectApplyLSTMBatchBackward),
      row("BNNSDirectApplyActivationBatch", BNNSDirectApplyActivationBatch),
      row("BNNSCopy", BNNSCopy),
      row("BNNSMatMulWorkspaceSize", BNNSMatMulWorkspaceSize),
      row("BNNSMatMul", BNNSMatMul),
      row("BNNSDirectApplyBroadcastMatMul", BNNSDirectApplyBroadcastMatMul),
      row("BNNSTranspose", BNNSTranspose),
      row("BNNSDirectApplyReduction", BNNSDirectApplyReduction),
      row("BNNSCompareTensor", BNNSCompareTensor),
      row("BNNSTile", BNNSTile),
      row("BNNSTileBackward", BNNSTileBackward),
      row("BNNSDirectApplyTopK", BNNSDirectApplyTopK),
      row("BNNSDirectApplyInTopK", BNNSDirectApplyInTopK),
      row("BNNSGather", BNNSGather),
      row("BNNSScatter", BNNSScatter),
      row("BNNSGatherND", BNNSGatherND),
      row("BNNSScatterND", BNNSScatterND),
      row("BNNSShuffle", BNNSShuffle),
      row("BNNSBandPart", BNNSBandPart),
      row("BNNSCropResize", BNNSCropResize),
      row("BNNSCropResizeBackward", BNNSCropResizeBackward),
      row("BNNSGetPointer", BNNSGetPointer),
      row("BNNSNDArrayGetDataSize", BNNSNDArrayGetDataSize),
      row("BNNSTensorGetAllocationSize", BNNSTensorGetAllocationSize),
      row("BNNSDataLayoutGetRank", BNNSDataLayoutGetRank),
      row("BNNSNDArrayFullyConnectedSparsifySparseCOO", BNNSNDArrayFullyConnectedSparsifySparseCOO),
      row("BNNSNDArrayFullyConnectedSparsifySparseCSR", BNNSNDArrayFullyConnectedSparsifySparseCSR),
      row("BNNSCreateRandomGenerator", BNNSCreateRandomGenerator),
      row("BNNSCreateRandomGeneratorWithSeed", BNNSCreateRandomGeneratorWithSeed),
      row("BNNSDestroyRandomGenerator", BNNSDestroyRandomGenerator, "BNNSCreateRandomGenerator"),
      row("BNNSRandomGeneratorStateSize", BNNSRandomGeneratorStateSize),
      row("BNNSRandomGeneratorGetState", BNNSRandomGeneratorGetState),
      row("BNNSRandomGeneratorSetState", BNNSRandomGeneratorSetState),
      row("BNNSRandomFillUniformFloat", BNNSRandomFillUniformFloat),
      row("BNNSRandomFillUniformInt", BNNSRandomFillUniformInt),
      row("BNNSRandomFillNormalFloat", BNNSRandomFillNormalFloat),
      row("BNNSRandomFillCategoricalFloat", BNNSRandomFillCategoricalFloat),
      row("BNNSCreateNearestNeighbors", BNNSCreateNearestNeighbors),
      row("BNNSDestroyNearestNeighbors", BNNSDestroyNearestNeighbors, "BNNSCreateNearestNeighbors"),
      row("BNNSNearestNeighborsLoad", BNNSNearestNeighborsLoad),
      row("BNNSNearestNeighborsGetInfo", BNNSNearestNeighborsGetInfo),
      row("BNNSFilterCreateConvolutionLayer", BNNSFilterCreateConvolutionLayer),
      row("BNNSFilterCreateFullyConnectedLayer", BNNSFilterCreateFullyConnectedLayer),
      row("BNNSFilterCreatePoolingLayer", BNNSFilterCreatePoolingLayer),
      row("BNNSFilterCreateVectorActivationLayer", BNNSFilterCreateVectorActivationLayer),
  };
  return table;
}

bool answers(const Row& r) {
  // Another function fails first, so that a reason left from before cannot be mistaken for a new
  // one.
  BNNSFilterApply(nullptr, nullptr, nullptr);
  r.call();
  return std::strstr(OpenBNNSGetLastError(), "not implemented") == nullptr;
}

}  // namespace

std::vector<FunctionState> probe_functions() {
  std::vector<FunctionState> states;
  for (const Row& r : rows()) {
    bool implemented = false;
    for (const Row& other : rows())
      if (std::strcmp(other.name, r.created_by ? r.created_by : r.name) == 0)
        implemented = answers(other);
    states.push_back({r.name, implemented});
  }
  return states;
}

}  // namespace spec
