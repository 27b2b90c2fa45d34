/* Every enumeration of the BNNS C API: data types, layouts, layer and optimizer functions, flags.
   Names and values are the ABI; tests/abi checks each of them. */
#ifndef OPENBNNS_BNNS_CONSTANTS_H
#define OPENBNNS_BNNS_CONSTANTS_H

#include <stdint.h>

#if defined(__GNUC__)
#define OPENBNNS_API __attribute__((visibility("default")))
#else
#define OPENBNNS_API
#endif

/* Each enumeration must be exactly a uint32_t: it is a field of structs whose layout is fixed, and
   values that have no name must be representable. C before C23 cannot say that (clang can), so
   there the constants are an anonymous enum and the type is uint32_t itself. Only a macro can
   declare both forms from one list. __extension__ keeps clang quiet with -pedantic. */
#if defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 202311L)
#define OPENBNNS_ENUM(name, ...) typedef enum : uint32_t { __VA_ARGS__ } name
#elif defined(__clang__)
#define OPENBNNS_ENUM(name, ...) __extension__ typedef enum : uint32_t { __VA_ARGS__ } name
#else
#define OPENBNNS_ENUM(name, ...) \
  enum { __VA_ARGS__ };          \
  typedef uint32_t name
#endif

/* One constant a line; the formatter would fill the lines as it does with arguments. */
/* clang-format off */

/* Element types: a class bit, plus the width in bits; 0x8000 marks the bfloat variant. The ...Bit
   constants are class markers, not types. */
OPENBNNS_ENUM(BNNSDataType,
  BNNSDataTypeFloatBit = 0x10000,
  BNNSDataTypeFloat16 = BNNSDataTypeFloatBit | 16,
  BNNSDataTypeFloat32 = BNNSDataTypeFloatBit | 32,
  BNNSDataTypeBFloat16 = BNNSDataTypeFloatBit | 0x8000 | 16,

  BNNSDataTypeIntBit = 0x20000,
  BNNSDataTypeInt1 = BNNSDataTypeIntBit | 1,
  BNNSDataTypeInt2 = BNNSDataTypeIntBit | 2,
  BNNSDataTypeInt4 = BNNSDataTypeIntBit | 4,
  BNNSDataTypeInt8 = BNNSDataTypeIntBit | 8,
  BNNSDataTypeInt16 = BNNSDataTypeIntBit | 16,
  BNNSDataTypeInt32 = BNNSDataTypeIntBit | 32,
  BNNSDataTypeInt64 = BNNSDataTypeIntBit | 64,

  BNNSDataTypeUIntBit = 0x40000,
  BNNSDataTypeUInt1 = BNNSDataTypeUIntBit | 1,
  BNNSDataTypeUInt2 = BNNSDataTypeUIntBit | 2,
  BNNSDataTypeUInt3 = BNNSDataTypeUIntBit | 3,
  BNNSDataTypeUInt4 = BNNSDataTypeUIntBit | 4,
  BNNSDataTypeUInt6 = BNNSDataTypeUIntBit | 6,
  BNNSDataTypeUInt8 = BNNSDataTypeUIntBit | 8,
  BNNSDataTypeUInt16 = BNNSDataTypeUIntBit | 16,
  BNNSDataTypeUInt32 = BNNSDataTypeUIntBit | 32,
  BNNSDataTypeUInt64 = BNNSDataTypeUIntBit | 64,

  /* Unsigned indices into a table of values. */
  BNNSDataTypeIndexedBit = 0x80000,
  BNNSDataTypeIndexed1 = BNNSDataTypeIndexedBit | 1,
  BNNSDataTypeIndexed2 = BNNSDataTypeIndexedBit | 2,
  BNNSDataTypeIndexed4 = BNNSDataTypeIndexedBit | 4,
  BNNSDataTypeIndexed8 = BNNSDataTypeIndexedBit | 8,

  BNNSDataTypeMiscellaneousBit = 0x100000,
  BNNSDataTypeBoolean = BNNSDataTypeMiscellaneousBit | 8 /* one byte; 0 is false */
);

OPENBNNS_ENUM(BNNSPoolingFunction,
  BNNSPoolingFunctionMax = 0,
  BNNSPoolingFunctionAverageCountIncludePadding = 1, /* divides by the size of the window */
  BNNSPoolingFunctionAverageCountExcludePadding = 2, /* divides by the cells inside the image */
  BNNSPoolingFunctionUnMax = 3,                      /* values go back to the recorded positions */
  BNNSPoolingFunctionL2Norm = 4,
  BNNSPoolingFunctionAverage = BNNSPoolingFunctionAverageCountIncludePadding /* the older name */
);

OPENBNNS_ENUM(BNNSActivationFunction,
  BNNSActivationFunctionIdentity = 0,
  BNNSActivationFunctionRectifiedLinear = 1,
  BNNSActivationFunctionLeakyRectifiedLinear = 2,
  BNNSActivationFunctionSigmoid = 3,
  BNNSActivationFunctionTanh = 4,
  BNNSActivationFunctionScaledTanh = 5,
  BNNSActivationFunctionAbs = 6,
  BNNSActivationFunctionLinear = 7,
  BNNSActivationFunctionClamp = 8,
  BNNSActivationFunctionIntegerLinearSaturate = 9,
  BNNSActivationFunctionIntegerLinearSaturatePerChannel = 10,
  BNNSActivationFunctionSoftmax = 11,
  BNNSActivationFunctionGELUApproximation = 12,
  BNNSActivationFunctionGumbel = 13,
  BNNSActivationFunctionGumbelMax = 14,
  BNNSActivationFunctionHardSigmoid = 15,
  BNNSActivationFunctionSoftplus = 16,
  BNNSActivationFunctionSoftsign = 17,
  BNNSActivationFunctionELU = 18,
  BNNSActivationFunctionClampedLeakyRectifiedLinear = 19,
  BNNSActivationFunctionLinearWithBias = 20,
  BNNSActivationFunctionLogSoftmax = 21,
  BNNSActivationFunctionLogSigmoid = 22,
  BNNSActivationFunctionSELU = 23,
  BNNSActivationFunctionCELU = 24,
  BNNSActivationFunctionHardShrink = 25,
  BNNSActivationFunctionSoftShrink = 26,
  BNNSActivationFunctionTanhShrink = 27,
  BNNSActivationFunctionThreshold = 28,
  BNNSActivationFunctionPReLUPerChannel = 29,
  BNNSActivationFunctionGELUApproximation2 = 30,
  BNNSActivationFunctionHardSwish = BNNSActivationFunctionGELUApproximation2,
  BNNSActivationFunctionSiLU = 31,
  BNNSActivationFunctionReLU6 = 32,
  BNNSActivationFunctionErf = 33,
  BNNSActivationFunctionGELU = 34,
  BNNSActivationFunctionGELUApproximationSigmoid = 35
);

/* A loss parameter struct starts with one of these; it tells which of the five structs it is. */
OPENBNNS_ENUM(BNNSLossFunction,
  BNNSLossFunctionSoftmaxCrossEntropy = 1,
  BNNSLossFunctionSigmoidCrossEntropy = 2,
  BNNSLossFunctionMeanSquareError = 3,
  BNNSLossFunctionHuber = 4,
  BNNSLossFunctionYolo = 5,
  BNNSLossFunctionLog = 6,
  BNNSLossFunctionCosineDistance = 7,
  BNNSLossFunctionHinge = 8,
  BNNSLossFunctionMeanAbsoluteError = 9,
  BNNSLossFunctionCategoricalCrossEntropy = 10
);

OPENBNNS_ENUM(BNNSLossReductionFunction,
  BNNSLossReductionNone = 0,              /* one loss per element or sample */
  BNNSLossReductionSum = 1,
  BNNSLossReductionWeightedMean = 2,      /* divides by the sum of the weights */
  BNNSLossReductionMean = 3,              /* divides by the number of losses */
  BNNSLossReductionNonZeroWeightMean = 4  /* divides by the number of weights that are not 0 */
);

OPENBNNS_ENUM(BNNSArithmeticFunction,
  BNNSArithmeticAdd = 0,
  BNNSArithmeticSubtract = 1,
  BNNSArithmeticMultiply = 2,
  BNNSArithmeticDivide = 3,
  BNNSArithmeticSquareRoot = 4,
  BNNSArithmeticReciprocalSquareRoot = 5,
  BNNSArithmeticCeil = 6,
  BNNSArithmeticFloor = 7,
  BNNSArithmeticRound = 8,
  BNNSArithmeticSin = 9,
  BNNSArithmeticCos = 10,
  BNNSArithmeticTan = 11,
  BNNSArithmeticAsin = 12,
  BNNSArithmeticAcos = 13,
  BNNSArithmeticAtan = 14,
  BNNSArithmeticSinh = 15,
  BNNSArithmeticCosh = 16,
  BNNSArithmeticTanh = 17,
  BNNSArithmeticAsinh = 18,
  BNNSArithmeticAcosh = 19,
  BNNSArithmeticAtanh = 20,
  BNNSArithmeticPow = 21,
  BNNSArithmeticExp = 22,
  BNNSArithmeticExp2 = 23,
  BNNSArithmeticLog = 24,
  BNNSArithmeticLog2 = 25,
  BNNSArithmeticMultiplyNoNaN = 26, /* 0 wherever in2 is 0 */
  BNNSArithmeticDivideNoNaN = 27,   /* 0 wherever in2 is 0 */
  BNNSArithmeticMultiplyAdd = 28,   /* in1 * in2 + in3 */
  BNNSArithmeticMinimum = 29,
  BNNSArithmeticMaximum = 30,
  BNNSArithmeticSelect = 31,        /* in1 ? in2 : in3 */
  BNNSArithmeticAbs = 32,
  BNNSArithmeticSign = 33,
  BNNSArithmeticNegate = 34,
  BNNSArithmeticReciprocal = 35,
  BNNSArithmeticSquare = 36,
  BNNSArithmeticFloorDivide = 37,
  BNNSArithmeticTruncDivide = 38,
  BNNSArithmeticTruncRemainder = 39, /* takes the sign of in1, like fmod */
  BNNSArithmeticErf = 40
);

/* The role of an arithmetic operand in a batch. */
OPENBNNS_ENUM(BNNSDescriptorType,
  BNNSConstant = 0, /* shared by all samples, no gradient */
  BNNSSample = 1,   /* one per sample, one gradient per sample */
  BNNSParameter = 2 /* shared by all samples, gradient summed over them */
);

OPENBNNS_ENUM(BNNSOptimizerFunction,
  BNNSOptimizerFunctionSGDMomentum = 1,
  BNNSOptimizerFunctionAdam = 2,
  BNNSOptimizerFunctionRMSProp = 3,
  BNNSOptimizerFunctionAdamW = 4,
  BNNSOptimizerFunctionAdamAMSGrad = 5,
  BNNSOptimizerFunctionAdamWAMSGrad = 6,
  BNNSOptimizerFunctionSGDMomentumWithClipping = 7,
  BNNSOptimizerFunctionAdamWithClipping = 8,
  BNNSOptimizerFunctionRMSPropWithClipping = 9,
  BNNSOptimizerFunctionAdamWWithClipping = 10,
  BNNSOptimizerFunctionAdamAMSGradWithClipping = 11,
  BNNSOptimizerFunctionAdamWAMSGradWithClipping = 12
);

OPENBNNS_ENUM(BNNSOptimizerRegularizationFunction,
  BNNSOptimizerRegularizationNone = 0,
  BNNSOptimizerRegularizationL1 = 1,
  BNNSOptimizerRegularizationL2 = 2
);

OPENBNNS_ENUM(BNNSOptimizerClippingFunction,
  BNNSOptimizerClippingNone = 0,
  BNNSOptimizerClippingByValue = 1,
  BNNSOptimizerClippingByNorm = 2,      /* each tensor by its own norm */
  BNNSOptimizerClippingByGlobalNorm = 3 /* all tensors by their common norm */
);

OPENBNNS_ENUM(BNNSNormType,
  BNNSL2Norm = 1
);

/* Kinds of layers that fused filters chain; BatchNorm to GroupNorm also select a normalization. */
OPENBNNS_ENUM(BNNSFilterType,
  BNNSConvolution = 0,
  BNNSFullyConnected = 1,
  BNNSBatchNorm = 2,
  BNNSInstanceNorm = 3,
  BNNSLayerNorm = 4,
  BNNSGroupNorm = 5,
  BNNSTransposedConvolution = 6,
  BNNSQuantization = 7,
  BNNSArithmetic = 8
);

OPENBNNS_ENUM(BNNSOptimizerSGDMomentumVariant,
  BNNSSGDMomentumVariant0 = 0, /* V = m V - lr g; W += V */
  BNNSSGDMomentumVariant1 = 1, /* V = m V + g;    W -= lr V */
  BNNSSGDMomentumVariant2 = 2  /* V = m V + lr g; W -= V */
);

/* Bits of BNNSLayerParametersLSTM.lstm_flags. */
OPENBNNS_ENUM(BNNSLayerFlags,
  BNNSLayerFlagsLSTMBidirectional = 0x0001,
  BNNSLayerFlagsLSTMDefaultActivations = 0x0002 /* the activation fields are ignored */
);

/* Bits of BNNSFilterParameters.flags. */
OPENBNNS_ENUM(BNNSFlags,
  BNNSFlagsUseClientPtr = 0x0001 /* work on the caller's parameters instead of copying them */
);

OPENBNNS_ENUM(BNNSReduceFunction,
  BNNSReduceFunctionMax = 0,
  BNNSReduceFunctionMin = 1,
  BNNSReduceFunctionArgMax = 2,
  BNNSReduceFunctionArgMin = 3,
  BNNSReduceFunctionMean = 4,
  BNNSReduceFunctionMeanNonZero = 5, /* over the elements whose weight is not 0 */
  BNNSReduceFunctionSum = 6,
  BNNSReduceFunctionSumSquare = 7,
  BNNSReduceFunctionSumLog = 8,      /* sum of log(x + epsilon) */
  BNNSReduceFunctionL1Norm = 9,
  BNNSReduceFunctionLogicalOr = 10,
  BNNSReduceFunctionLogicalAnd = 11,
  BNNSReduceFunctionL2Norm = 12,
  BNNSReduceFunctionLogSumExp = 13,
  BNNSReduceFunctionProduct = 14,
  BNNSReduceFunctionNone = 15,       /* scatter only: replace instead of combine */
  BNNSReduceFunctionLogSum = 16,
  BNNSReduceFunctionAny = BNNSReduceFunctionLogicalOr,
  BNNSReduceFunctionAll = BNNSReduceFunctionLogicalAnd
);

OPENBNNS_ENUM(BNNSInterpolationMethod,
  BNNSInterpolationMethodNearest = 0,
  BNNSInterpolationMethodLinear = 1
);

/* Where crop-resize samples the n points of a box axis that is E + 1 cells long. */
OPENBNNS_ENUM(BNNSLinearSamplingMode,
  BNNSLinearSamplingDefault = 0,
  BNNSLinearSamplingAlignCorners = 1,       /* as strict, but a single sample lies in the middle */
  BNNSLinearSamplingUnalignCorners = 2,     /* centres of n equal cells */
  BNNSLinearSamplingStrictAlignCorners = 3, /* first and last sample on the ends */
  BNNSLinearSamplingOffsetCorners = 4       /* centres of n equal parts of E */
);

/* The order of a box's four numbers. */
OPENBNNS_ENUM(BNNSBoxCoordinateMode,
  BNNSCornersHeightFirst = 0,    /* h_start, w_start, h_end, w_end */
  BNNSCornersWidthFirst = 1,     /* w_start, h_start, w_end, h_end */
  BNNSCenterSizeHeightFirst = 2, /* h_center, w_center, height, width */
  BNNSCenterSizeWidthFirst = 3   /* w_center, h_center, width, height */
);

OPENBNNS_ENUM(BNNSPaddingMode,
  BNNSPaddingModeConstant = 0,
  BNNSPaddingModeReflect = 1,  /* mirrored, the edge itself not repeated */
  BNNSPaddingModeSymmetric = 2 /* mirrored, the edge repeated */
);

OPENBNNS_ENUM(BNNSRelationalOperator,
  BNNSRelationalOperatorEqual = 0,
  BNNSRelationalOperatorLess = 1,
  BNNSRelationalOperatorLessEqual = 2,
  BNNSRelationalOperatorGreater = 3,
  BNNSRelationalOperatorGreaterEqual = 4,
  BNNSRelationalOperatorNotEqual = 5,
  BNNSRelationalOperatorLogicalAND = 6,
  BNNSRelationalOperatorLogicalOR = 7,
  BNNSRelationalOperatorLogicalNOT = 8, /* of the first operand; the second is not used */
  BNNSRelationalOperatorLogicalNAND = 9,
  BNNSRelationalOperatorLogicalNOR = 10,
  BNNSRelationalOperatorLogicalXOR = 11
);

/* Which parameter of an activation filter BNNSGetPointer returns. */
OPENBNNS_ENUM(BNNSPointerSpecifier,
  BNNSPointerSpecifierAlpha = 0,
  BNNSPointerSpecifierBeta = 1
);

/* What a backward call does with the old contents of a gradient it writes. */
OPENBNNS_ENUM(BNNSNDArrayFlags,
  BNNSNDArrayFlagBackpropSet = 0,
  BNNSNDArrayFlagBackpropAccumulate = 1
);

OPENBNNS_ENUM(BNNSEmbeddingFlags,
  BNNSEmbeddingFlagScaleGradientByFrequency = 1
);

OPENBNNS_ENUM(BNNSQuantizerFunction,
  BNNSQuantizerFunctionQuantize = 0,  /* scale * x + bias */
  BNNSQuantizerFunctionDequantize = 1 /* (x - bias) / scale */
);

OPENBNNS_ENUM(BNNSRandomGeneratorMethod,
  BNNSRandomGeneratorMethodAES_CTR = 0
);

OPENBNNS_ENUM(BNNSSparsityType,
  BNNSSparsityTypeUnstructured = 0x0
);

OPENBNNS_ENUM(BNNSTargetSystem,
  BNNSTargetSystemGeneric = 0
);

/* Moves between channels and space, r the block size; the pairs order the channels differently. */
OPENBNNS_ENUM(BNNSShuffleType,
  BNNSShuffleTypePixelShuffleNCHW = 0,   /* channel (c r + i) r + j feeds pixel (i, j) of a block */
  BNNSShuffleTypePixelUnshuffleNCHW = 1,
  BNNSShuffleTypeDepthToSpaceNCHW = 2,   /* channel (i r + j) C + c feeds pixel (i, j) of a block */
  BNNSShuffleTypeSpaceToDepthNCHW = 3
);

/* Memory layouts: rank << 16, plus a kind. 0x8000 marks the generic layouts of each rank, whose low
   bit is 1 for first-major. stride[0] always belongs to the axis that is fastest in memory; in the
   first-major layouts that is the last entry of size[]. */
OPENBNNS_ENUM(BNNSDataLayout,
  BNNSDataLayoutVector = 0x10000,
  BNNSDataLayout1DLastMajor = 0x18000,
  BNNSDataLayout1DFirstMajor = 0x18001,

  BNNSDataLayoutRowMajorMatrix = 0x20000,    /* size {columns, rows} */
  BNNSDataLayoutColumnMajorMatrix = 0x20001, /* size {rows, columns} */
  BNNSDataLayout2DLastMajor = 0x28000,
  BNNSDataLayout2DFirstMajor = 0x28001,
  BNNSDataLayoutFullyConnectedSparse = 0x21001, /* packed by the sparsify functions */

  BNNSDataLayoutImageCHW = 0x30000, /* size {width, height, channels} */
  BNNSDataLayoutSNE = 0x30001,      /* size {embedding, batch, sequence} */
  BNNSDataLayoutNSE = 0x30002,      /* size {embedding, sequence, batch} */
  BNNSDataLayoutMHA_DHK = 0x30003,  /* attention weights */
  BNNSDataLayout3DLastMajor = 0x38000,
  BNNSDataLayout3DFirstMajor = 0x38001,

  BNNSDataLayoutConvolutionWeightsOIHW = 0x40000,   /* size {width, height, in, out} */
  BNNSDataLayoutConvolutionWeightsOIHrWr = 0x40001, /* the same, kernels rotated by 180 degrees */
  BNNSDataLayoutConvolutionWeightsIOHrWr = 0x40002, /* rotated, size {width, height, out, in} */
  BNNSDataLayoutConvolutionWeightsOIHW_Pack32 = 0x40010, /* 32 output channels innermost */
  BNNSDataLayout4DLastMajor = 0x48000,
  BNNSDataLayout4DFirstMajor = 0x48001,

  BNNSDataLayout5DLastMajor = 0x58000,
  BNNSDataLayout5DFirstMajor = 0x58001,
  BNNSDataLayout6DLastMajor = 0x68000,
  BNNSDataLayout6DFirstMajor = 0x68001,
  BNNSDataLayout7DLastMajor = 0x78000,
  BNNSDataLayout7DFirstMajor = 0x78001,
  BNNSDataLayout8DLastMajor = 0x88000,
  BNNSDataLayout8DFirstMajor = 0x88001
);

/* Enumerations of the graph API; the structures are in bnns_graph.h. */

OPENBNNS_ENUM(BNNSGraphMessageLevel,
  BNNSGraphMessageLevelInfo = 1,
  BNNSGraphMessageLevelUnsupported = 2,
  BNNSGraphMessageLevelWarning = 4,
  BNNSGraphMessageLevelError = 8
);

OPENBNNS_ENUM(BNNSGraphOptimizationPreference,
  BNNSGraphOptimizationPreferencePerformance = 0,
  BNNSGraphOptimizationPreferenceIRSize = 1
);

OPENBNNS_ENUM(BNNSGraphArgumentIntent,
  BNNSGraphArgumentIntentIn = 1,
  BNNSGraphArgumentIntentOut = 2,
  BNNSGraphArgumentIntentInOut = 3
);

OPENBNNS_ENUM(BNNSGraphArgumentType,
  BNNSGraphArgumentTypePointer = 0,
  BNNSGraphArgumentTypeTensor = 2
);

/* clang-format on */

#endif
