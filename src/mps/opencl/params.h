// The constants of the kernels, for both sides: this text is compiled as C++ and, in front of the
// kernels, as OpenCL C. Members of 8 bytes come before those of 4, and sizes are multiples of 8, so
// that both compilers lay a structure out in the same way.
#ifdef __OPENCL_VERSION__
typedef uint U32;
typedef ulong U64;
typedef long I64;
#else
#pragma once
#include <cstdint>
namespace bnns::impl::mps::opencl {
using U32 = uint32_t;
using U64 = uint64_t;
using I64 = int64_t;
#endif

// A loss and the constants of its formula: labels become keep * t + added.
typedef struct {
  float keep, added, epsilon, delta;
  U32 type;        // CNNLossType
  U32 as_printed;  // 1: the printed gradients
} Formula;

// How an image lies in its buffer; the buffer of an image that does not exist is never read.
typedef struct {
  U64 width, height, channels;
  U32 format;  // ImageFeatureChannelFormat
  U32 exists;
} View;

// log(softmax) needs the largest value and the logarithm of the sum of each pixel. Its channels are
// taken in chunks.
typedef struct {
  View source;
  U64 first, channels;  // the range of the soft-max
  U64 chunk, chunks;    // channels in a chunk, and how many there are
} SoftmaxParams;

typedef struct {
  View source, labels, weights, loss;
  U64 strands;  // partial sums
  Formula formula;
  float weight;
  U32 counts;  // 1: the weights that are not 0 are added up, not the losses
} LossParams;

// Adds `count` partial sums, `strands` times with that step; (sum + offset) * scale is stored from
// `target` on. The offset is a sum of two floats.
typedef struct {
  U64 count, strands, target;
  float offset_high, offset_low, scale;
  U32 unused;
} FoldParams;

// The divisor of a reduction: fixed, or counted on the device, of one image or of all.
typedef struct {
  U64 image, batch;
  float fixed;
  U32 counted;
  U32 across_batch;
  U32 unused;
} Divisor;

typedef struct {
  Divisor divisor;
  U32 format;
  U32 unused;
} StoreParams;

// Where an image is read: the pixel that belongs to the first pixel of the destination.
typedef struct {
  I64 x, y;
  U64 channel;
  U32 clamped;
  U32 unused;
} Place;

typedef struct {
  View source, labels, weights, upstream, gradient;
  Place source_place, upstream_place;
  U64 x, y, width, height, channel, channels;  // what is written
  Divisor divisor;
  Formula formula;
  float weight;
  U32 softmax;
  U32 by_labels;   // 1: the derivative by the labels
  U32 by_element;  // 1: each element has an incoming gradient of its own
} GradientParams;

typedef struct {
  Formula formula;
  float factor;  // scale and weight of the part; of the confidence only the weight
  U32 softmax;
} Part;

typedef struct {
  View source, labels, weights, loss, gradient;
  U64 anchors, classes;
  Part xy, wh, confidence, categories;
  float scale_object, scale_no_object, min_iou, max_iou;
  U32 rescore;
  U32 unused;
} YoloParams;

typedef struct {
  View destination;
  U64 width, height, channels;
} OnesParams;

#ifndef __OPENCL_VERSION__
static_assert(sizeof(View) == 32 && sizeof(Formula) == 24 && sizeof(Divisor) == 32);
static_assert(sizeof(SoftmaxParams) == 64 && sizeof(LossParams) == 168);
static_assert(sizeof(FoldParams) == 40 && sizeof(StoreParams) == 40 && sizeof(OnesParams) == 56);
static_assert(sizeof(GradientParams) == 344 && sizeof(YoloParams) == 328);
}  // namespace bnns::impl::mps::opencl
#endif
