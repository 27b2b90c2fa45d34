/* The ABI: the value of every constant, and size, alignment and field offsets of every structure
   on LP64 systems. The numbers are the published layout, not taken from the headers; whoever
   includes this file checks the headers against them at compile time, in C and in C++. */
#ifndef OPENBNNS_TESTS_ABI_LAYOUT_H
#define OPENBNNS_TESTS_ABI_LAYOUT_H

#include <stddef.h>

#include "openbnns/bnns.h"

/* Macros, because the checks are the same text in both languages. */
#ifdef __cplusplus
#define ABI_ASSERT(condition, text) static_assert(condition, text)
#define ABI_ALIGNOF(type) alignof(type)
#else
#define ABI_ASSERT(condition, text) _Static_assert(condition, text)
#define ABI_ALIGNOF(type) _Alignof(type)
#endif

/* Every enumeration is an unsigned 32-bit integer. */
#define ENUM(type) ABI_ASSERT(sizeof(type) == 4 && (type)-1 > (type)0, #type)
#define VALUE(constant, expected) ABI_ASSERT((constant) == (expected), #constant)
#define STRUCT(type, size, alignment) \
  ABI_ASSERT(sizeof(type) == (size) && ABI_ALIGNOF(type) == (alignment), #type)
#define FIELD(type, field, offset, size)                                                  \
  ABI_ASSERT(offsetof(type, field) == (offset) && sizeof(((type*)NULL)->field) == (size), \
             #type "." #field)

/* clang-format off */

ENUM(BNNSDataType);
VALUE(BNNSDataTypeFloatBit, 0x10000);
VALUE(BNNSDataTypeFloat16, 0x10010);
VALUE(BNNSDataTypeFloat32, 0x10020);
VALUE(BNNSDataTypeBFloat16, 0x18010);
VALUE(BNNSDataTypeIntBit, 0x20000);
VALUE(BNNSDataTypeInt1, 0x20001);
VALUE(BNNSDataTypeInt2, 0x20002);
VALUE(BNNSDataTypeInt4, 0x20004);
VALUE(BNNSDataTypeInt8, 0x20008);
VALUE(BNNSDataTypeInt16, 0x20010);
VALUE(BNNSDataTypeInt32, 0x20020);
VALUE(BNNSDataTypeInt64, 0x20040);
VALUE(BNNSDataTypeUIntBit, 0x40000);
VALUE(BNNSDataTypeUInt1, 0x40001);
VALUE(BNNSDataTypeUInt2, 0x40002);
VALUE(BNNSDataTypeUInt3, 0x40003);
VALUE(BNNSDataTypeUInt4, 0x40004);
VALUE(BNNSDataTypeUInt6, 0x40006);
VALUE(BNNSDataTypeUInt8, 0x40008);
VALUE(BNNSDataTypeUInt16, 0x40010);
VALUE(BNNSDataTypeUInt32, 0x40020);
VALUE(BNNSDataTypeUInt64, 0x40040);
VALUE(BNNSDataTypeIndexedBit, 0x80000);
VALUE(BNNSDataTypeIndexed1, 0x80001);
VALUE(BNNSDataTypeIndexed2, 0x80002);
VALUE(BNNSDataTypeIndexed4, 0x80004);
VALUE(BNNSDataTypeIndexed8, 0x80008);
VALUE(BNNSDataTypeMiscellaneousBit, 0x100000);
VALUE(BNNSDataTypeBoolean, 0x100008);

ENUM(BNNSPoolingFunction);
VALUE(BNNSPoolingFunctionMax, 0);
VALUE(BNNSPoolingFunctionAverageCountIncludePadding, 1);
VALUE(BNNSPoolingFunctionAverageCountExcludePadding, 2);
VALUE(BNNSPoolingFunctionUnMax, 3);
VALUE(BNNSPoolingFunctionL2Norm, 4);
VALUE(BNNSPoolingFunctionAverage, 1);

ENUM(BNNSActivationFunction);
VALUE(BNNSActivationFunctionIdentity, 0);
VALUE(BNNSActivationFunctionRectifiedLinear, 1);
VALUE(BNNSActivationFunctionLeakyRectifiedLinear, 2);
VALUE(BNNSActivationFunctionSigmoid, 3);
VALUE(BNNSActivationFunctionTanh, 4);
VALUE(BNNSActivationFunctionScaledTanh, 5);
VALUE(BNNSActivationFunctionAbs, 6);
VALUE(BNNSActivationFunctionLinear, 7);
VALUE(BNNSActivationFunctionClamp, 8);
VALUE(BNNSActivationFunctionIntegerLinearSaturate, 9);
VALUE(BNNSActivationFunctionIntegerLinearSaturatePerChannel, 10);
VALUE(BNNSActivationFunctionSoftmax, 11);
VALUE(BNNSActivationFunctionGELUApproximation, 12);
VALUE(BNNSActivationFunctionGumbel, 13);
VALUE(BNNSActivationFunctionGumbelMax, 14);
VALUE(BNNSActivationFunctionHardSigmoid, 15);
VALUE(BNNSActivationFunctionSoftplus, 16);
VALUE(BNNSActivationFunctionSoftsign, 17);
VALUE(BNNSActivationFunctionELU, 18);
VALUE(BNNSActivationFunctionClampedLeakyRectifiedLinear, 19);
VALUE(BNNSActivationFunctionLinearWithBias, 20);
VALUE(BNNSActivationFunctionLogSoftmax, 21);
VALUE(BNNSActivationFunctionLogSigmoid, 22);
VALUE(BNNSActivationFunctionSELU, 23);
VALUE(BNNSActivationFunctionCELU, 24);
VALUE(BNNSActivationFunctionHardShrink, 25);
VALUE(BNNSActivationFunctionSoftShrink, 26);
VALUE(BNNSActivationFunctionTanhShrink, 27);
VALUE(BNNSActivationFunctionThreshold, 28);
VALUE(BNNSActivationFunctionPReLUPerChannel, 29);
VALUE(BNNSActivationFunctionGELUApproximation2, 30);
VALUE(BNNSActivationFunctionHardSwish, 30);
VALUE(BNNSActivationFunctionSiLU, 31);
VALUE(BNNSActivationFunctionReLU6, 32);
VALUE(BNNSActivationFunctionErf, 33);
VALUE(BNNSActivationFunctionGELU, 34);
VALUE(BNNSActivationFunctionGELUApproximationSigmoid, 35);

ENUM(BNNSLossFunction);
VALUE(BNNSLossFunctionSoftmaxCrossEntropy, 1);
VALUE(BNNSLossFunctionSigmoidCrossEntropy, 2);
VALUE(BNNSLossFunctionMeanSquareError, 3);
VALUE(BNNSLossFunctionHuber, 4);
VALUE(BNNSLossFunctionYolo, 5);
VALUE(BNNSLossFunctionLog, 6);
VALUE(BNNSLossFunctionCosineDistance, 7);
VALUE(BNNSLossFunctionHinge, 8);
VALUE(BNNSLossFunctionMeanAbsoluteError, 9);
VALUE(BNNSLossFunctionCategoricalCrossEntropy, 10);

ENUM(BNNSLossReductionFunction);
VALUE(BNNSLossReductionNone, 0);
VALUE(BNNSLossReductionSum, 1);
VALUE(BNNSLossReductionWeightedMean, 2);
VALUE(BNNSLossReductionMean, 3);
VALUE(BNNSLossReductionNonZeroWeightMean, 4);

ENUM(BNNSArithmeticFunction);
VALUE(BNNSArithmeticAdd, 0);
VALUE(BNNSArithmeticSubtract, 1);
VALUE(BNNSArithmeticMultiply, 2);
VALUE(BNNSArithmeticDivide, 3);
VALUE(BNNSArithmeticSquareRoot, 4);
VALUE(BNNSArithmeticReciprocalSquareRoot, 5);
VALUE(BNNSArithmeticCeil, 6);
VALUE(BNNSArithmeticFloor, 7);
VALUE(BNNSArithmeticRound, 8);
VALUE(BNNSArithmeticSin, 9);
VALUE(BNNSArithmeticCos, 10);
VALUE(BNNSArithmeticTan, 11);
VALUE(BNNSArithmeticAsin, 12);
VALUE(BNNSArithmeticAcos, 13);
VALUE(BNNSArithmeticAtan, 14);
VALUE(BNNSArithmeticSinh, 15);
VALUE(BNNSArithmeticCosh, 16);
VALUE(BNNSArithmeticTanh, 17);
VALUE(BNNSArithmeticAsinh, 18);
VALUE(BNNSArithmeticAcosh, 19);
VALUE(BNNSArithmeticAtanh, 20);
VALUE(BNNSArithmeticPow, 21);
VALUE(BNNSArithmeticExp, 22);
VALUE(BNNSArithmeticExp2, 23);
VALUE(BNNSArithmeticLog, 24);
VALUE(BNNSArithmeticLog2, 25);
VALUE(BNNSArithmeticMultiplyNoNaN, 26);
VALUE(BNNSArithmeticDivideNoNaN, 27);
VALUE(BNNSArithmeticMultiplyAdd, 28);
VALUE(BNNSArithmeticMinimum, 29);
VALUE(BNNSArithmeticMaximum, 30);
VALUE(BNNSArithmeticSelect, 31);
VALUE(BNNSArithmeticAbs, 32);
VALUE(BNNSArithmeticSign, 33);
VALUE(BNNSArithmeticNegate, 34);
VALUE(BNNSArithmeticReciprocal, 35);
VALUE(BNNSArithmeticSquare, 36);
VALUE(BNNSArithmeticFloorDivide, 37);
VALUE(BNNSArithmeticTruncDivide, 38);
VALUE(BNNSArithmeticTruncRemainder, 39);
VALUE(BNNSArithmeticErf, 40);

ENUM(BNNSDescriptorType);
VALUE(BNNSConstant, 0);
VALUE(BNNSSample, 1);
VALUE(BNNSParameter, 2);

ENUM(BNNSOptimizerFunction);
VALUE(BNNSOptimizerFunctionSGDMomentum, 1);
VALUE(BNNSOptimizerFunctionAdam, 2);
VALUE(BNNSOptimizerFunctionRMSProp, 3);
VALUE(BNNSOptimizerFunctionAdamW, 4);
VALUE(BNNSOptimizerFunctionAdamAMSGrad, 5);
VALUE(BNNSOptimizerFunctionAdamWAMSGrad, 6);
VALUE(BNNSOptimizerFunctionSGDMomentumWithClipping, 7);
VALUE(BNNSOptimizerFunctionAdamWithClipping, 8);
VALUE(BNNSOptimizerFunctionRMSPropWithClipping, 9);
VALUE(BNNSOptimizerFunctionAdamWWithClipping, 10);
VALUE(BNNSOptimizerFunctionAdamAMSGradWithClipping, 11);
VALUE(BNNSOptimizerFunctionAdamWAMSGradWithClipping, 12);

ENUM(BNNSOptimizerRegularizationFunction);
VALUE(BNNSOptimizerRegularizationNone, 0);
VALUE(BNNSOptimizerRegularizationL1, 1);
VALUE(BNNSOptimizerRegularizationL2, 2);

ENUM(BNNSOptimizerClippingFunction);
VALUE(BNNSOptimizerClippingNone, 0);
VALUE(BNNSOptimizerClippingByValue, 1);
VALUE(BNNSOptimizerClippingByNorm, 2);
VALUE(BNNSOptimizerClippingByGlobalNorm, 3);

ENUM(BNNSNormType);
VALUE(BNNSL2Norm, 1);

ENUM(BNNSFilterType);
VALUE(BNNSConvolution, 0);
VALUE(BNNSFullyConnected, 1);
VALUE(BNNSBatchNorm, 2);
VALUE(BNNSInstanceNorm, 3);
VALUE(BNNSLayerNorm, 4);
VALUE(BNNSGroupNorm, 5);
VALUE(BNNSTransposedConvolution, 6);
VALUE(BNNSQuantization, 7);
VALUE(BNNSArithmetic, 8);

ENUM(BNNSOptimizerSGDMomentumVariant);
VALUE(BNNSSGDMomentumVariant0, 0);
VALUE(BNNSSGDMomentumVariant1, 1);
VALUE(BNNSSGDMomentumVariant2, 2);

ENUM(BNNSLayerFlags);
VALUE(BNNSLayerFlagsLSTMBidirectional, 0x0001);
VALUE(BNNSLayerFlagsLSTMDefaultActivations, 0x0002);

ENUM(BNNSFlags);
VALUE(BNNSFlagsUseClientPtr, 0x0001);

ENUM(BNNSReduceFunction);
VALUE(BNNSReduceFunctionMax, 0);
VALUE(BNNSReduceFunctionMin, 1);
VALUE(BNNSReduceFunctionArgMax, 2);
VALUE(BNNSReduceFunctionArgMin, 3);
VALUE(BNNSReduceFunctionMean, 4);
VALUE(BNNSReduceFunctionMeanNonZero, 5);
VALUE(BNNSReduceFunctionSum, 6);
VALUE(BNNSReduceFunctionSumSquare, 7);
VALUE(BNNSReduceFunctionSumLog, 8);
VALUE(BNNSReduceFunctionL1Norm, 9);
VALUE(BNNSReduceFunctionLogicalOr, 10);
VALUE(BNNSReduceFunctionLogicalAnd, 11);
VALUE(BNNSReduceFunctionL2Norm, 12);
VALUE(BNNSReduceFunctionLogSumExp, 13);
VALUE(BNNSReduceFunctionProduct, 14);
VALUE(BNNSReduceFunctionNone, 15);
VALUE(BNNSReduceFunctionLogSum, 16);
VALUE(BNNSReduceFunctionAny, 10);
VALUE(BNNSReduceFunctionAll, 11);

ENUM(BNNSInterpolationMethod);
VALUE(BNNSInterpolationMethodNearest, 0);
VALUE(BNNSInterpolationMethodLinear, 1);

ENUM(BNNSLinearSamplingMode);
VALUE(BNNSLinearSamplingDefault, 0);
VALUE(BNNSLinearSamplingAlignCorners, 1);
VALUE(BNNSLinearSamplingUnalignCorners, 2);
VALUE(BNNSLinearSamplingStrictAlignCorners, 3);
VALUE(BNNSLinearSamplingOffsetCorners, 4);

ENUM(BNNSBoxCoordinateMode);
VALUE(BNNSCornersHeightFirst, 0);
VALUE(BNNSCornersWidthFirst, 1);
VALUE(BNNSCenterSizeHeightFirst, 2);
VALUE(BNNSCenterSizeWidthFirst, 3);

ENUM(BNNSPaddingMode);
VALUE(BNNSPaddingModeConstant, 0);
VALUE(BNNSPaddingModeReflect, 1);
VALUE(BNNSPaddingModeSymmetric, 2);

ENUM(BNNSRelationalOperator);
VALUE(BNNSRelationalOperatorEqual, 0);
VALUE(BNNSRelationalOperatorLess, 1);
VALUE(BNNSRelationalOperatorLessEqual, 2);
VALUE(BNNSRelationalOperatorGreater, 3);
VALUE(BNNSRelationalOperatorGreaterEqual, 4);
VALUE(BNNSRelationalOperatorNotEqual, 5);
VALUE(BNNSRelationalOperatorLogicalAND, 6);
VALUE(BNNSRelationalOperatorLogicalOR, 7);
VALUE(BNNSRelationalOperatorLogicalNOT, 8);
VALUE(BNNSRelationalOperatorLogicalNAND, 9);
VALUE(BNNSRelationalOperatorLogicalNOR, 10);
VALUE(BNNSRelationalOperatorLogicalXOR, 11);

ENUM(BNNSPointerSpecifier);
VALUE(BNNSPointerSpecifierAlpha, 0);
VALUE(BNNSPointerSpecifierBeta, 1);

ENUM(BNNSNDArrayFlags);
VALUE(BNNSNDArrayFlagBackpropSet, 0);
VALUE(BNNSNDArrayFlagBackpropAccumulate, 1);

ENUM(BNNSEmbeddingFlags);
VALUE(BNNSEmbeddingFlagScaleGradientByFrequency, 1);

ENUM(BNNSQuantizerFunction);
VALUE(BNNSQuantizerFunctionQuantize, 0);
VALUE(BNNSQuantizerFunctionDequantize, 1);

ENUM(BNNSRandomGeneratorMethod);
VALUE(BNNSRandomGeneratorMethodAES_CTR, 0);

ENUM(BNNSSparsityType);
VALUE(BNNSSparsityTypeUnstructured, 0x0);

ENUM(BNNSTargetSystem);
VALUE(BNNSTargetSystemGeneric, 0);

ENUM(BNNSShuffleType);
VALUE(BNNSShuffleTypePixelShuffleNCHW, 0);
VALUE(BNNSShuffleTypePixelUnshuffleNCHW, 1);
VALUE(BNNSShuffleTypeDepthToSpaceNCHW, 2);
VALUE(BNNSShuffleTypeSpaceToDepthNCHW, 3);

ENUM(BNNSDataLayout);
VALUE(BNNSDataLayoutVector, 0x10000);
VALUE(BNNSDataLayout1DLastMajor, 0x18000);
VALUE(BNNSDataLayout1DFirstMajor, 0x18001);
VALUE(BNNSDataLayoutRowMajorMatrix, 0x20000);
VALUE(BNNSDataLayoutColumnMajorMatrix, 0x20001);
VALUE(BNNSDataLayout2DLastMajor, 0x28000);
VALUE(BNNSDataLayout2DFirstMajor, 0x28001);
VALUE(BNNSDataLayoutFullyConnectedSparse, 0x21001);
VALUE(BNNSDataLayoutImageCHW, 0x30000);
VALUE(BNNSDataLayoutSNE, 0x30001);
VALUE(BNNSDataLayoutNSE, 0x30002);
VALUE(BNNSDataLayoutMHA_DHK, 0x30003);
VALUE(BNNSDataLayout3DLastMajor, 0x38000);
VALUE(BNNSDataLayout3DFirstMajor, 0x38001);
VALUE(BNNSDataLayoutConvolutionWeightsOIHW, 0x40000);
VALUE(BNNSDataLayoutConvolutionWeightsOIHrWr, 0x40001);
VALUE(BNNSDataLayoutConvolutionWeightsIOHrWr, 0x40002);
VALUE(BNNSDataLayoutConvolutionWeightsOIHW_Pack32, 0x40010);
VALUE(BNNSDataLayout4DLastMajor, 0x48000);
VALUE(BNNSDataLayout4DFirstMajor, 0x48001);
VALUE(BNNSDataLayout5DLastMajor, 0x58000);
VALUE(BNNSDataLayout5DFirstMajor, 0x58001);
VALUE(BNNSDataLayout6DLastMajor, 0x68000);
VALUE(BNNSDataLayout6DFirstMajor, 0x68001);
VALUE(BNNSDataLayout7DLastMajor, 0x78000);
VALUE(BNNSDataLayout7DFirstMajor, 0x78001);
VALUE(BNNSDataLayout8DLastMajor, 0x88000);
VALUE(BNNSDataLayout8DFirstMajor, 0x88001);

ENUM(BNNSGraphMessageLevel);
VALUE(BNNSGraphMessageLevelInfo, 1);
VALUE(BNNSGraphMessageLevelUnsupported, 2);
VALUE(BNNSGraphMessageLevelWarning, 4);
VALUE(BNNSGraphMessageLevelError, 8);

ENUM(BNNSGraphOptimizationPreference);
VALUE(BNNSGraphOptimizationPreferencePerformance, 0);
VALUE(BNNSGraphOptimizationPreferenceIRSize, 1);

ENUM(BNNSGraphArgumentIntent);
VALUE(BNNSGraphArgumentIntentIn, 1);
VALUE(BNNSGraphArgumentIntentOut, 2);
VALUE(BNNSGraphArgumentIntentInOut, 3);

ENUM(BNNSGraphArgumentType);
VALUE(BNNSGraphArgumentTypePointer, 0);
VALUE(BNNSGraphArgumentTypeTensor, 2);

ABI_ASSERT(BNNS_MAX_TENSOR_DIMENSION == 8, "BNNS_MAX_TENSOR_DIMENSION");

STRUCT(BNNSActivation, 48, 8);
FIELD(BNNSActivation, function, 0, 4);
FIELD(BNNSActivation, alpha, 4, 4);
FIELD(BNNSActivation, beta, 8, 4);
FIELD(BNNSActivation, iscale, 12, 4);
FIELD(BNNSActivation, ioffset, 16, 4);
FIELD(BNNSActivation, ishift, 20, 4);
FIELD(BNNSActivation, iscale_per_channel, 24, 8);
FIELD(BNNSActivation, ioffset_per_channel, 32, 8);
FIELD(BNNSActivation, ishift_per_channel, 40, 8);

STRUCT(BNNSNDArrayDescriptor, 176, 8);
FIELD(BNNSNDArrayDescriptor, flags, 0, 4);
FIELD(BNNSNDArrayDescriptor, layout, 4, 4);
FIELD(BNNSNDArrayDescriptor, size, 8, 64);
FIELD(BNNSNDArrayDescriptor, stride, 72, 64);
FIELD(BNNSNDArrayDescriptor, data, 136, 8);
FIELD(BNNSNDArrayDescriptor, data_type, 144, 4);
FIELD(BNNSNDArrayDescriptor, table_data, 152, 8);
FIELD(BNNSNDArrayDescriptor, table_data_type, 160, 4);
FIELD(BNNSNDArrayDescriptor, data_scale, 164, 4);
FIELD(BNNSNDArrayDescriptor, data_bias, 168, 4);

STRUCT(BNNSTensor, 160, 8);
FIELD(BNNSTensor, data_type, 0, 4);
FIELD(BNNSTensor, rank, 4, 1);
FIELD(BNNSTensor, shape, 8, 64);
FIELD(BNNSTensor, stride, 72, 64);
FIELD(BNNSTensor, data, 136, 8);
FIELD(BNNSTensor, data_size_in_bytes, 144, 8);
FIELD(BNNSTensor, name, 152, 8);

STRUCT(BNNSFilterParameters, 32, 8);
FIELD(BNNSFilterParameters, flags, 0, 4);
FIELD(BNNSFilterParameters, n_threads, 8, 8);
FIELD(BNNSFilterParameters, alloc_memory, 16, 8);
FIELD(BNNSFilterParameters, free_memory, 24, 8);

STRUCT(BNNSArithmeticUnary, 368, 8);
FIELD(BNNSArithmeticUnary, in, 0, 176);
FIELD(BNNSArithmeticUnary, in_type, 176, 4);
FIELD(BNNSArithmeticUnary, out, 184, 176);
FIELD(BNNSArithmeticUnary, out_type, 360, 4);

STRUCT(BNNSArithmeticBinary, 552, 8);
FIELD(BNNSArithmeticBinary, in1, 0, 176);
FIELD(BNNSArithmeticBinary, in1_type, 176, 4);
FIELD(BNNSArithmeticBinary, in2, 184, 176);
FIELD(BNNSArithmeticBinary, in2_type, 360, 4);
FIELD(BNNSArithmeticBinary, out, 368, 176);
FIELD(BNNSArithmeticBinary, out_type, 544, 4);

STRUCT(BNNSArithmeticTernary, 736, 8);
FIELD(BNNSArithmeticTernary, in1, 0, 176);
FIELD(BNNSArithmeticTernary, in1_type, 176, 4);
FIELD(BNNSArithmeticTernary, in2, 184, 176);
FIELD(BNNSArithmeticTernary, in2_type, 360, 4);
FIELD(BNNSArithmeticTernary, in3, 368, 176);
FIELD(BNNSArithmeticTernary, in3_type, 544, 4);
FIELD(BNNSArithmeticTernary, out, 552, 176);
FIELD(BNNSArithmeticTernary, out_type, 728, 4);

STRUCT(BNNSMHAProjectionParameters, 528, 8);
FIELD(BNNSMHAProjectionParameters, target_desc, 0, 176);
FIELD(BNNSMHAProjectionParameters, weights, 176, 176);
FIELD(BNNSMHAProjectionParameters, bias, 352, 176);

STRUCT(BNNSLSTMGateDescriptor, 928, 8);
FIELD(BNNSLSTMGateDescriptor, iw_desc, 0, 352);
FIELD(BNNSLSTMGateDescriptor, hw_desc, 352, 176);
FIELD(BNNSLSTMGateDescriptor, cw_desc, 528, 176);
FIELD(BNNSLSTMGateDescriptor, b_desc, 704, 176);
FIELD(BNNSLSTMGateDescriptor, activation, 880, 48);

STRUCT(BNNSLSTMDataDescriptor, 528, 8);
FIELD(BNNSLSTMDataDescriptor, data_desc, 0, 176);
FIELD(BNNSLSTMDataDescriptor, hidden_desc, 176, 176);
FIELD(BNNSLSTMDataDescriptor, cell_state_desc, 352, 176);

STRUCT(BNNSLayerParametersConvolution, 840, 8);
FIELD(BNNSLayerParametersConvolution, i_desc, 0, 176);
FIELD(BNNSLayerParametersConvolution, w_desc, 176, 176);
FIELD(BNNSLayerParametersConvolution, o_desc, 352, 176);
FIELD(BNNSLayerParametersConvolution, bias, 528, 176);
FIELD(BNNSLayerParametersConvolution, activation, 704, 48);
FIELD(BNNSLayerParametersConvolution, x_stride, 752, 8);
FIELD(BNNSLayerParametersConvolution, y_stride, 760, 8);
FIELD(BNNSLayerParametersConvolution, x_dilation_stride, 768, 8);
FIELD(BNNSLayerParametersConvolution, y_dilation_stride, 776, 8);
FIELD(BNNSLayerParametersConvolution, x_padding, 784, 8);
FIELD(BNNSLayerParametersConvolution, y_padding, 792, 8);
FIELD(BNNSLayerParametersConvolution, groups, 800, 8);
FIELD(BNNSLayerParametersConvolution, pad, 808, 32);

STRUCT(BNNSLayerParametersFullyConnected, 752, 8);
FIELD(BNNSLayerParametersFullyConnected, i_desc, 0, 176);
FIELD(BNNSLayerParametersFullyConnected, w_desc, 176, 176);
FIELD(BNNSLayerParametersFullyConnected, o_desc, 352, 176);
FIELD(BNNSLayerParametersFullyConnected, bias, 528, 176);
FIELD(BNNSLayerParametersFullyConnected, activation, 704, 48);

STRUCT(BNNSLayerParametersPooling, 680, 8);
FIELD(BNNSLayerParametersPooling, i_desc, 0, 176);
FIELD(BNNSLayerParametersPooling, o_desc, 176, 176);
FIELD(BNNSLayerParametersPooling, bias, 352, 176);
FIELD(BNNSLayerParametersPooling, activation, 528, 48);
FIELD(BNNSLayerParametersPooling, pooling_function, 576, 4);
FIELD(BNNSLayerParametersPooling, k_width, 584, 8);
FIELD(BNNSLayerParametersPooling, k_height, 592, 8);
FIELD(BNNSLayerParametersPooling, x_stride, 600, 8);
FIELD(BNNSLayerParametersPooling, y_stride, 608, 8);
FIELD(BNNSLayerParametersPooling, x_dilation_stride, 616, 8);
FIELD(BNNSLayerParametersPooling, y_dilation_stride, 624, 8);
FIELD(BNNSLayerParametersPooling, x_padding, 632, 8);
FIELD(BNNSLayerParametersPooling, y_padding, 640, 8);
FIELD(BNNSLayerParametersPooling, pad, 648, 32);

STRUCT(BNNSLayerParametersActivation, 408, 8);
FIELD(BNNSLayerParametersActivation, i_desc, 0, 176);
FIELD(BNNSLayerParametersActivation, o_desc, 176, 176);
FIELD(BNNSLayerParametersActivation, activation, 352, 48);
FIELD(BNNSLayerParametersActivation, axis_flags, 400, 4);

STRUCT(BNNSLayerParametersNormalization, 1128, 8);
FIELD(BNNSLayerParametersNormalization, i_desc, 0, 176);
FIELD(BNNSLayerParametersNormalization, o_desc, 176, 176);
FIELD(BNNSLayerParametersNormalization, beta_desc, 352, 176);
FIELD(BNNSLayerParametersNormalization, gamma_desc, 528, 176);
FIELD(BNNSLayerParametersNormalization, moving_mean_desc, 704, 176);
FIELD(BNNSLayerParametersNormalization, moving_variance_desc, 880, 176);
FIELD(BNNSLayerParametersNormalization, momentum, 1056, 4);
FIELD(BNNSLayerParametersNormalization, epsilon, 1060, 4);
FIELD(BNNSLayerParametersNormalization, activation, 1064, 48);
FIELD(BNNSLayerParametersNormalization, num_groups, 1112, 8);
FIELD(BNNSLayerParametersNormalization, normalization_axis, 1120, 8);

STRUCT(BNNSLayerParametersDropout, 368, 8);
FIELD(BNNSLayerParametersDropout, i_desc, 0, 176);
FIELD(BNNSLayerParametersDropout, o_desc, 176, 176);
FIELD(BNNSLayerParametersDropout, rate, 352, 4);
FIELD(BNNSLayerParametersDropout, seed, 356, 4);
FIELD(BNNSLayerParametersDropout, control, 360, 1);

STRUCT(BNNSLayerParametersArithmetic, 64, 8);
FIELD(BNNSLayerParametersArithmetic, arithmetic_function, 0, 4);
FIELD(BNNSLayerParametersArithmetic, arithmetic_function_fields, 8, 8);
FIELD(BNNSLayerParametersArithmetic, activation, 16, 48);

STRUCT(BNNSLayerParametersPermute, 416, 8);
FIELD(BNNSLayerParametersPermute, i_desc, 0, 176);
FIELD(BNNSLayerParametersPermute, o_desc, 176, 176);
FIELD(BNNSLayerParametersPermute, permutation, 352, 64);

STRUCT(BNNSLayerParametersPadding, 488, 8);
FIELD(BNNSLayerParametersPadding, i_desc, 0, 176);
FIELD(BNNSLayerParametersPadding, o_desc, 176, 176);
FIELD(BNNSLayerParametersPadding, padding_size, 352, 128);
FIELD(BNNSLayerParametersPadding, padding_mode, 480, 4);
FIELD(BNNSLayerParametersPadding, padding_value, 484, 4);

STRUCT(BNNSLayerParametersBroadcastMatMul, 544, 8);
FIELD(BNNSLayerParametersBroadcastMatMul, alpha, 0, 4);
FIELD(BNNSLayerParametersBroadcastMatMul, beta, 4, 4);
FIELD(BNNSLayerParametersBroadcastMatMul, transA, 8, 1);
FIELD(BNNSLayerParametersBroadcastMatMul, transB, 9, 1);
FIELD(BNNSLayerParametersBroadcastMatMul, quadratic, 10, 1);
FIELD(BNNSLayerParametersBroadcastMatMul, a_is_weights, 11, 1);
FIELD(BNNSLayerParametersBroadcastMatMul, b_is_weights, 12, 1);
FIELD(BNNSLayerParametersBroadcastMatMul, iA_desc, 16, 176);
FIELD(BNNSLayerParametersBroadcastMatMul, iB_desc, 192, 176);
FIELD(BNNSLayerParametersBroadcastMatMul, o_desc, 368, 176);

STRUCT(BNNSLayerParametersTensorContraction, 544, 8);
FIELD(BNNSLayerParametersTensorContraction, operation, 0, 8);
FIELD(BNNSLayerParametersTensorContraction, alpha, 8, 4);
FIELD(BNNSLayerParametersTensorContraction, beta, 12, 4);
FIELD(BNNSLayerParametersTensorContraction, iA_desc, 16, 176);
FIELD(BNNSLayerParametersTensorContraction, iB_desc, 192, 176);
FIELD(BNNSLayerParametersTensorContraction, o_desc, 368, 176);

STRUCT(BNNSLayerParametersGram, 360, 8);
FIELD(BNNSLayerParametersGram, alpha, 0, 4);
FIELD(BNNSLayerParametersGram, i_desc, 8, 176);
FIELD(BNNSLayerParametersGram, o_desc, 184, 176);

STRUCT(BNNSLayerParametersResize, 368, 8);
FIELD(BNNSLayerParametersResize, method, 0, 4);
FIELD(BNNSLayerParametersResize, i_desc, 8, 176);
FIELD(BNNSLayerParametersResize, o_desc, 184, 176);
FIELD(BNNSLayerParametersResize, align_corners, 360, 1);

STRUCT(BNNSLayerParametersCropResize, 24, 4);
FIELD(BNNSLayerParametersCropResize, normalized_coordinates, 0, 1);
FIELD(BNNSLayerParametersCropResize, spatial_scale, 4, 4);
FIELD(BNNSLayerParametersCropResize, extrapolation_value, 8, 4);
FIELD(BNNSLayerParametersCropResize, sampling_mode, 12, 4);
FIELD(BNNSLayerParametersCropResize, box_coordinate_mode, 16, 4);
FIELD(BNNSLayerParametersCropResize, method, 20, 4);

STRUCT(BNNSLayerParametersReduction, 536, 8);
FIELD(BNNSLayerParametersReduction, i_desc, 0, 176);
FIELD(BNNSLayerParametersReduction, o_desc, 176, 176);
FIELD(BNNSLayerParametersReduction, w_desc, 352, 176);
FIELD(BNNSLayerParametersReduction, reduce_func, 528, 4);
FIELD(BNNSLayerParametersReduction, epsilon, 532, 4);

STRUCT(BNNSLayerParametersMultiheadAttention, 2480, 8);
FIELD(BNNSLayerParametersMultiheadAttention, query, 0, 528);
FIELD(BNNSLayerParametersMultiheadAttention, key, 528, 528);
FIELD(BNNSLayerParametersMultiheadAttention, value, 1056, 528);
FIELD(BNNSLayerParametersMultiheadAttention, add_zero_attn, 1584, 1);
FIELD(BNNSLayerParametersMultiheadAttention, key_attn_bias, 1592, 176);
FIELD(BNNSLayerParametersMultiheadAttention, value_attn_bias, 1768, 176);
FIELD(BNNSLayerParametersMultiheadAttention, output, 1944, 528);
FIELD(BNNSLayerParametersMultiheadAttention, dropout, 2472, 4);
FIELD(BNNSLayerParametersMultiheadAttention, seed, 2476, 4);

STRUCT(BNNSLayerParametersLSTM, 5040, 8);
FIELD(BNNSLayerParametersLSTM, input_size, 0, 8);
FIELD(BNNSLayerParametersLSTM, hidden_size, 8, 8);
FIELD(BNNSLayerParametersLSTM, batch_size, 16, 8);
FIELD(BNNSLayerParametersLSTM, num_layers, 24, 8);
FIELD(BNNSLayerParametersLSTM, seq_len, 32, 8);
FIELD(BNNSLayerParametersLSTM, dropout, 40, 4);
FIELD(BNNSLayerParametersLSTM, lstm_flags, 44, 4);
FIELD(BNNSLayerParametersLSTM, sequence_descriptor, 48, 176);
FIELD(BNNSLayerParametersLSTM, input_descriptor, 224, 528);
FIELD(BNNSLayerParametersLSTM, output_descriptor, 752, 528);
FIELD(BNNSLayerParametersLSTM, input_gate, 1280, 928);
FIELD(BNNSLayerParametersLSTM, forget_gate, 2208, 928);
FIELD(BNNSLayerParametersLSTM, candidate_gate, 3136, 928);
FIELD(BNNSLayerParametersLSTM, output_gate, 4064, 928);
FIELD(BNNSLayerParametersLSTM, hidden_activation, 4992, 48);

STRUCT(BNNSLayerParametersEmbedding, 552, 8);
FIELD(BNNSLayerParametersEmbedding, flags, 0, 4);
FIELD(BNNSLayerParametersEmbedding, i_desc, 8, 176);
FIELD(BNNSLayerParametersEmbedding, o_desc, 184, 176);
FIELD(BNNSLayerParametersEmbedding, dictionary, 360, 176);
FIELD(BNNSLayerParametersEmbedding, padding_idx, 536, 8);
FIELD(BNNSLayerParametersEmbedding, max_norm, 544, 4);
FIELD(BNNSLayerParametersEmbedding, norm_type, 548, 4);

STRUCT(BNNSLayerParametersQuantization, 720, 8);
FIELD(BNNSLayerParametersQuantization, axis_mask, 0, 8);
FIELD(BNNSLayerParametersQuantization, function, 8, 4);
FIELD(BNNSLayerParametersQuantization, i_desc, 16, 176);
FIELD(BNNSLayerParametersQuantization, o_desc, 192, 176);
FIELD(BNNSLayerParametersQuantization, scale, 368, 176);
FIELD(BNNSLayerParametersQuantization, bias, 544, 176);

STRUCT(BNNSLayerParametersLossBase, 368, 8);
FIELD(BNNSLayerParametersLossBase, function, 0, 4);
FIELD(BNNSLayerParametersLossBase, i_desc, 8, 176);
FIELD(BNNSLayerParametersLossBase, o_desc, 184, 176);
FIELD(BNNSLayerParametersLossBase, reduction, 360, 4);

STRUCT(BNNSLayerParametersLossSoftmaxCrossEntropy, 368, 8);
FIELD(BNNSLayerParametersLossSoftmaxCrossEntropy, function, 0, 4);
FIELD(BNNSLayerParametersLossSoftmaxCrossEntropy, i_desc, 8, 176);
FIELD(BNNSLayerParametersLossSoftmaxCrossEntropy, o_desc, 184, 176);
FIELD(BNNSLayerParametersLossSoftmaxCrossEntropy, reduction, 360, 4);
FIELD(BNNSLayerParametersLossSoftmaxCrossEntropy, label_smooth, 364, 4);

STRUCT(BNNSLayerParametersLossSigmoidCrossEntropy, 368, 8);
FIELD(BNNSLayerParametersLossSigmoidCrossEntropy, function, 0, 4);
FIELD(BNNSLayerParametersLossSigmoidCrossEntropy, i_desc, 8, 176);
FIELD(BNNSLayerParametersLossSigmoidCrossEntropy, o_desc, 184, 176);
FIELD(BNNSLayerParametersLossSigmoidCrossEntropy, reduction, 360, 4);
FIELD(BNNSLayerParametersLossSigmoidCrossEntropy, label_smooth, 364, 4);

STRUCT(BNNSLayerParametersLossHuber, 368, 8);
FIELD(BNNSLayerParametersLossHuber, function, 0, 4);
FIELD(BNNSLayerParametersLossHuber, i_desc, 8, 176);
FIELD(BNNSLayerParametersLossHuber, o_desc, 184, 176);
FIELD(BNNSLayerParametersLossHuber, reduction, 360, 4);
FIELD(BNNSLayerParametersLossHuber, huber_delta, 364, 4);

STRUCT(BNNSLayerParametersLossYolo, 440, 8);
FIELD(BNNSLayerParametersLossYolo, function, 0, 4);
FIELD(BNNSLayerParametersLossYolo, i_desc, 8, 176);
FIELD(BNNSLayerParametersLossYolo, o_desc, 184, 176);
FIELD(BNNSLayerParametersLossYolo, reduction, 360, 4);
FIELD(BNNSLayerParametersLossYolo, huber_delta, 364, 4);
FIELD(BNNSLayerParametersLossYolo, number_of_grid_columns, 368, 8);
FIELD(BNNSLayerParametersLossYolo, number_of_grid_rows, 376, 8);
FIELD(BNNSLayerParametersLossYolo, number_of_anchor_boxes, 384, 8);
FIELD(BNNSLayerParametersLossYolo, anchor_box_size, 392, 8);
FIELD(BNNSLayerParametersLossYolo, rescore, 400, 1);
FIELD(BNNSLayerParametersLossYolo, scale_xy, 404, 4);
FIELD(BNNSLayerParametersLossYolo, scale_wh, 408, 4);
FIELD(BNNSLayerParametersLossYolo, scale_object, 412, 4);
FIELD(BNNSLayerParametersLossYolo, scale_no_object, 416, 4);
FIELD(BNNSLayerParametersLossYolo, scale_classification, 420, 4);
FIELD(BNNSLayerParametersLossYolo, object_minimum_iou, 424, 4);
FIELD(BNNSLayerParametersLossYolo, no_object_maximum_iou, 428, 4);
FIELD(BNNSLayerParametersLossYolo, anchors_data, 432, 8);

STRUCT(BNNSOptimizerSGDMomentumFields, 40, 4);
FIELD(BNNSOptimizerSGDMomentumFields, learning_rate, 0, 4);
FIELD(BNNSOptimizerSGDMomentumFields, momentum, 4, 4);
FIELD(BNNSOptimizerSGDMomentumFields, gradient_scale, 8, 4);
FIELD(BNNSOptimizerSGDMomentumFields, regularization_scale, 12, 4);
FIELD(BNNSOptimizerSGDMomentumFields, clip_gradients, 16, 1);
FIELD(BNNSOptimizerSGDMomentumFields, clip_gradients_min, 20, 4);
FIELD(BNNSOptimizerSGDMomentumFields, clip_gradients_max, 24, 4);
FIELD(BNNSOptimizerSGDMomentumFields, nesterov, 28, 1);
FIELD(BNNSOptimizerSGDMomentumFields, regularization_func, 32, 4);
FIELD(BNNSOptimizerSGDMomentumFields, sgd_momentum_variant, 36, 4);

STRUCT(BNNSOptimizerSGDMomentumWithClippingFields, 48, 4);
FIELD(BNNSOptimizerSGDMomentumWithClippingFields, learning_rate, 0, 4);
FIELD(BNNSOptimizerSGDMomentumWithClippingFields, momentum, 4, 4);
FIELD(BNNSOptimizerSGDMomentumWithClippingFields, gradient_scale, 8, 4);
FIELD(BNNSOptimizerSGDMomentumWithClippingFields, regularization_scale, 12, 4);
FIELD(BNNSOptimizerSGDMomentumWithClippingFields, nesterov, 16, 1);
FIELD(BNNSOptimizerSGDMomentumWithClippingFields, regularization_func, 20, 4);
FIELD(BNNSOptimizerSGDMomentumWithClippingFields, sgd_momentum_variant, 24, 4);
FIELD(BNNSOptimizerSGDMomentumWithClippingFields, clipping_func, 28, 4);
FIELD(BNNSOptimizerSGDMomentumWithClippingFields, clip_gradients_min, 32, 4);
FIELD(BNNSOptimizerSGDMomentumWithClippingFields, clip_gradients_max, 36, 4);
FIELD(BNNSOptimizerSGDMomentumWithClippingFields, clip_gradients_max_norm, 40, 4);
FIELD(BNNSOptimizerSGDMomentumWithClippingFields, clip_gradients_use_norm, 44, 4);

STRUCT(BNNSOptimizerAdamFields, 44, 4);
FIELD(BNNSOptimizerAdamFields, learning_rate, 0, 4);
FIELD(BNNSOptimizerAdamFields, beta1, 4, 4);
FIELD(BNNSOptimizerAdamFields, beta2, 8, 4);
FIELD(BNNSOptimizerAdamFields, time_step, 12, 4);
FIELD(BNNSOptimizerAdamFields, epsilon, 16, 4);
FIELD(BNNSOptimizerAdamFields, gradient_scale, 20, 4);
FIELD(BNNSOptimizerAdamFields, regularization_scale, 24, 4);
FIELD(BNNSOptimizerAdamFields, clip_gradients, 28, 1);
FIELD(BNNSOptimizerAdamFields, clip_gradients_min, 32, 4);
FIELD(BNNSOptimizerAdamFields, clip_gradients_max, 36, 4);
FIELD(BNNSOptimizerAdamFields, regularization_func, 40, 4);

STRUCT(BNNSOptimizerAdamWithClippingFields, 52, 4);
FIELD(BNNSOptimizerAdamWithClippingFields, learning_rate, 0, 4);
FIELD(BNNSOptimizerAdamWithClippingFields, beta1, 4, 4);
FIELD(BNNSOptimizerAdamWithClippingFields, beta2, 8, 4);
FIELD(BNNSOptimizerAdamWithClippingFields, time_step, 12, 4);
FIELD(BNNSOptimizerAdamWithClippingFields, epsilon, 16, 4);
FIELD(BNNSOptimizerAdamWithClippingFields, gradient_scale, 20, 4);
FIELD(BNNSOptimizerAdamWithClippingFields, regularization_scale, 24, 4);
FIELD(BNNSOptimizerAdamWithClippingFields, regularization_func, 28, 4);
FIELD(BNNSOptimizerAdamWithClippingFields, clipping_func, 32, 4);
FIELD(BNNSOptimizerAdamWithClippingFields, clip_gradients_min, 36, 4);
FIELD(BNNSOptimizerAdamWithClippingFields, clip_gradients_max, 40, 4);
FIELD(BNNSOptimizerAdamWithClippingFields, clip_gradients_max_norm, 44, 4);
FIELD(BNNSOptimizerAdamWithClippingFields, clip_gradients_use_norm, 48, 4);

STRUCT(BNNSOptimizerRMSPropFields, 44, 4);
FIELD(BNNSOptimizerRMSPropFields, learning_rate, 0, 4);
FIELD(BNNSOptimizerRMSPropFields, alpha, 4, 4);
FIELD(BNNSOptimizerRMSPropFields, epsilon, 8, 4);
FIELD(BNNSOptimizerRMSPropFields, centered, 12, 1);
FIELD(BNNSOptimizerRMSPropFields, momentum, 16, 4);
FIELD(BNNSOptimizerRMSPropFields, gradient_scale, 20, 4);
FIELD(BNNSOptimizerRMSPropFields, regularization_scale, 24, 4);
FIELD(BNNSOptimizerRMSPropFields, clip_gradients, 28, 1);
FIELD(BNNSOptimizerRMSPropFields, clip_gradients_min, 32, 4);
FIELD(BNNSOptimizerRMSPropFields, clip_gradients_max, 36, 4);
FIELD(BNNSOptimizerRMSPropFields, regularization_func, 40, 4);

STRUCT(BNNSOptimizerRMSPropWithClippingFields, 52, 4);
FIELD(BNNSOptimizerRMSPropWithClippingFields, learning_rate, 0, 4);
FIELD(BNNSOptimizerRMSPropWithClippingFields, alpha, 4, 4);
FIELD(BNNSOptimizerRMSPropWithClippingFields, epsilon, 8, 4);
FIELD(BNNSOptimizerRMSPropWithClippingFields, centered, 12, 1);
FIELD(BNNSOptimizerRMSPropWithClippingFields, momentum, 16, 4);
FIELD(BNNSOptimizerRMSPropWithClippingFields, gradient_scale, 20, 4);
FIELD(BNNSOptimizerRMSPropWithClippingFields, regularization_scale, 24, 4);
FIELD(BNNSOptimizerRMSPropWithClippingFields, regularization_func, 28, 4);
FIELD(BNNSOptimizerRMSPropWithClippingFields, clipping_func, 32, 4);
FIELD(BNNSOptimizerRMSPropWithClippingFields, clip_gradients_min, 36, 4);
FIELD(BNNSOptimizerRMSPropWithClippingFields, clip_gradients_max, 40, 4);
FIELD(BNNSOptimizerRMSPropWithClippingFields, clip_gradients_max_norm, 44, 4);
FIELD(BNNSOptimizerRMSPropWithClippingFields, clip_gradients_use_norm, 48, 4);

STRUCT(BNNSSparsityParameters, 24, 8);
FIELD(BNNSSparsityParameters, flags, 0, 8);
FIELD(BNNSSparsityParameters, sparsity_ratio, 8, 8);
FIELD(BNNSSparsityParameters, sparsity_type, 16, 4);
FIELD(BNNSSparsityParameters, target_system, 20, 4);

STRUCT(BNNSImageStackDescriptor, 56, 8);
FIELD(BNNSImageStackDescriptor, width, 0, 8);
FIELD(BNNSImageStackDescriptor, height, 8, 8);
FIELD(BNNSImageStackDescriptor, channels, 16, 8);
FIELD(BNNSImageStackDescriptor, row_stride, 24, 8);
FIELD(BNNSImageStackDescriptor, image_stride, 32, 8);
FIELD(BNNSImageStackDescriptor, data_type, 40, 4);
FIELD(BNNSImageStackDescriptor, data_scale, 44, 4);
FIELD(BNNSImageStackDescriptor, data_bias, 48, 4);

STRUCT(BNNSVectorDescriptor, 24, 8);
FIELD(BNNSVectorDescriptor, size, 0, 8);
FIELD(BNNSVectorDescriptor, data_type, 8, 4);
FIELD(BNNSVectorDescriptor, data_scale, 12, 4);
FIELD(BNNSVectorDescriptor, data_bias, 16, 4);

STRUCT(BNNSLayerData, 32, 8);
FIELD(BNNSLayerData, data, 0, 8);
FIELD(BNNSLayerData, data_type, 8, 4);
FIELD(BNNSLayerData, data_scale, 12, 4);
FIELD(BNNSLayerData, data_bias, 16, 4);
FIELD(BNNSLayerData, data_table, 24, 8);

STRUCT(BNNSConvolutionLayerParameters, 176, 8);
FIELD(BNNSConvolutionLayerParameters, x_stride, 0, 8);
FIELD(BNNSConvolutionLayerParameters, y_stride, 8, 8);
FIELD(BNNSConvolutionLayerParameters, x_padding, 16, 8);
FIELD(BNNSConvolutionLayerParameters, y_padding, 24, 8);
FIELD(BNNSConvolutionLayerParameters, k_width, 32, 8);
FIELD(BNNSConvolutionLayerParameters, k_height, 40, 8);
FIELD(BNNSConvolutionLayerParameters, in_channels, 48, 8);
FIELD(BNNSConvolutionLayerParameters, out_channels, 56, 8);
FIELD(BNNSConvolutionLayerParameters, weights, 64, 32);
FIELD(BNNSConvolutionLayerParameters, bias, 96, 32);
FIELD(BNNSConvolutionLayerParameters, activation, 128, 48);

STRUCT(BNNSFullyConnectedLayerParameters, 128, 8);
FIELD(BNNSFullyConnectedLayerParameters, in_size, 0, 8);
FIELD(BNNSFullyConnectedLayerParameters, out_size, 8, 8);
FIELD(BNNSFullyConnectedLayerParameters, weights, 16, 32);
FIELD(BNNSFullyConnectedLayerParameters, bias, 48, 32);
FIELD(BNNSFullyConnectedLayerParameters, activation, 80, 48);

STRUCT(BNNSPoolingLayerParameters, 152, 8);
FIELD(BNNSPoolingLayerParameters, x_stride, 0, 8);
FIELD(BNNSPoolingLayerParameters, y_stride, 8, 8);
FIELD(BNNSPoolingLayerParameters, x_padding, 16, 8);
FIELD(BNNSPoolingLayerParameters, y_padding, 24, 8);
FIELD(BNNSPoolingLayerParameters, k_width, 32, 8);
FIELD(BNNSPoolingLayerParameters, k_height, 40, 8);
FIELD(BNNSPoolingLayerParameters, in_channels, 48, 8);
FIELD(BNNSPoolingLayerParameters, out_channels, 56, 8);
FIELD(BNNSPoolingLayerParameters, pooling_function, 64, 4);
FIELD(BNNSPoolingLayerParameters, bias, 72, 32);
FIELD(BNNSPoolingLayerParameters, activation, 104, 48);

STRUCT(bnns_graph_t, 16, 8);
FIELD(bnns_graph_t, data, 0, 8);
FIELD(bnns_graph_t, size, 8, 8);

STRUCT(bnns_graph_context_t, 16, 8);
FIELD(bnns_graph_context_t, data, 0, 8);
FIELD(bnns_graph_context_t, size, 8, 8);

STRUCT(bnns_graph_compile_options_t, 16, 8);
FIELD(bnns_graph_compile_options_t, data, 0, 8);
FIELD(bnns_graph_compile_options_t, size, 8, 8);

STRUCT(bnns_graph_shape_t, 16, 8);
FIELD(bnns_graph_shape_t, rank, 0, 8);
FIELD(bnns_graph_shape_t, shape, 8, 8);

STRUCT(bnns_user_message_data_t, 16, 8);
FIELD(bnns_user_message_data_t, size, 0, 8);
FIELD(bnns_user_message_data_t, data, 8, 8);

STRUCT(bnns_graph_argument_t, 16, 8);
FIELD(bnns_graph_argument_t, tensor, 0, 8);
FIELD(bnns_graph_argument_t, descriptor, 0, 8);
FIELD(bnns_graph_argument_t, data_ptr, 0, 8);
FIELD(bnns_graph_argument_t, data_ptr_size, 8, 8);

/* clang-format on */

#undef ENUM
#undef VALUE
#undef STRUCT
#undef FIELD

#endif
