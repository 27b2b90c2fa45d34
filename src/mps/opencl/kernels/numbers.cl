// Numbers of images as floats, and sums that lose nothing to rounding.
//
// Everything is computed in float, in forms that do not need doubles or halves of the device.
// Products and sums stay separate operations, so that devices with and without a fused one agree.
#pragma OPENCL FP_CONTRACT OFF

// Divides indices; most fit in 32 bits, where the division is much cheaper.
static ulong quotient(ulong a, ulong b) {
  return ((a | b) >> 32) == 0 ? (ulong)((uint)a / (uint)b) : a / b;
}

static float half_to_float(uint bits) {
  const uint sign = (bits & 0x8000u) << 16;
  const uint rest = bits & 0x7FFFu;
  if (rest >= 0x7C00u) return as_float(sign | 0x7F800000u | (rest & 0x3FFu) << 13);
  // Below 2^-14 the bits are a multiple of 2^-24.
  const float magnitude =
      rest < 0x400u ? (float)rest * 0x1p-24f : as_float((rest << 13) + 0x38000000u);
  return as_float(sign | as_uint(magnitude));
}

// Rounds to nearest, ties to even; beyond the range to infinity.
static ushort float_to_half(float value) {
  const uint bits = as_uint(value);
  const uint sign = bits >> 16 & 0x8000u;
  const uint magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return (ushort)(sign | 0x7E00u | (magnitude >> 13 & 0x3FFu));
  if (magnitude >= 0x477FF000u) return (ushort)(sign | 0x7C00u);
  if (magnitude < 0x38800000u) {
    // A multiple of 2^-24: adding 0.5 rounds at that bit.
    return (ushort)(sign | (as_uint(as_float(magnitude) + 0.5f) - 0x3F000000u));
  }
  return (ushort)(sign | (magnitude + 0xFFFu + (magnitude >> 13 & 1u) - 0x38000000u) >> 13);
}

static float load(__global const uchar* bytes, View view, ulong i) {
  switch (view.format) {
    case 1: return (float)bytes[i] / 255.0f;
    case 2: return (float)((__global const ushort*)bytes)[i] / 65535.0f;
    case 3: return half_to_float(((__global const ushort*)bytes)[i]);
    default: return ((__global const float*)bytes)[i];
  }
}

// Results are Float16 or Float32.
static void store(__global uchar* bytes, uint format, ulong i, float value) {
  if (format == 3)
    ((__global ushort*)bytes)[i] = float_to_half(value);
  else
    ((__global float*)bytes)[i] = value;
}

// The element of a channel of a pixel.
static ulong at(View view, ulong pixel, ulong channel) {
  return pixel * view.channels + channel;
}

// ---- Sums: the value is x + y, where y collects what rounding takes from x ----

static float2 add(float2 sum, float value) {
  const float x = sum.x + value;
  if (!isfinite(x)) return (float2)(x, 0.0f);
  const float part = x - sum.x;
  const float lost = (sum.x - (x - part)) + (value - part);
  return (float2)(x, sum.y + lost);
}

static float2 join(float2 a, float2 b) {
  const float2 sum = add(a, b.x);
  return isfinite(sum.x) ? (float2)(sum.x, sum.y + b.y) : sum;
}

static float2 multiply(float2 sum, float factor) {
  const float x = sum.x * factor;
  if (!isfinite(x)) return (float2)(x, 0.0f);
  return (float2)(x, fma(sum.x, factor, -x) + sum.y * factor);
}

// One partial sum out of several.
__kernel void fold(__global const float2* sums, FoldParams p, __global float2* results) {
  const ulong k = get_global_id(0);
  if (k >= p.strands) return;
  float2 sum = (float2)(0.0f, 0.0f);
  for (ulong i = k; i < p.count; i += p.strands) sum = join(sum, sums[i]);
  sum = join(sum, (float2)(p.offset_high, p.offset_low));
  results[p.target + k] = p.scale == 1.0f ? sum : multiply(sum, p.scale);
}

static float divisor_of(Divisor d, __global const float2* counts) {
  if (!d.counted) return d.fixed;
  float2 count = counts[d.across_batch ? 0 : d.image];
  for (ulong n = 1; d.across_batch && n < d.batch; ++n) count = join(count, counts[n]);
  return count.x + count.y;
}

// The value of one image: its total divided, or for image 0 that of the batch and 0 for the others.
__kernel void store_reduced(__global const float2* totals, __global const float2* counts,
                            StoreParams p, __global uchar* loss) {
  if (get_global_id(0) != 0) return;
  const Divisor d = p.divisor;
  const float divisor = divisor_of(d, counts);
  float2 total = totals[d.across_batch ? 0 : d.image];
  for (ulong n = 1; d.across_batch && n < d.batch; ++n) total = join(total, totals[n]);
  const bool zero = divisor == 0.0f || (d.across_batch && d.image > 0);
  store(loss, p.format, 0, zero ? 0.0f : (total.x + total.y) / divisor);
}

__kernel void ones(OnesParams p, __global uchar* destination) {
  const ulong i = get_global_id(0);
  if (i >= p.width * p.height * p.channels) return;
  const ulong pixel = quotient(i, p.channels), c = i - pixel * p.channels;
  const ulong y = quotient(pixel, p.width), x = pixel - y * p.width;
  store(destination, p.destination.format, at(p.destination, y * p.destination.width + x, c), 1.0f);
}
