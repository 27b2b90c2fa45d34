// Forward losses, and the gradient in a window of the destination. One work item per element, or
// per partial sum.

// ---- log(softmax) = y - max - log(sum of exp(y - max)), over channels of each pixel ----

// The largest value of each chunk.
__kernel void softmax_largest(__global const uchar* source, SoftmaxParams p,
                              __global float* largest) {
  const ulong i = get_global_id(0);
  if (i >= p.source.width * p.source.height * p.chunks) return;
  const ulong pixel = quotient(i, p.chunks), first = (i - pixel * p.chunks) * p.chunk;
  const ulong end = min(first + p.chunk, p.channels);
  float most = -INFINITY;
  for (ulong c = first; c < end; ++c) {
    const float y = load(source, p.source, at(p.source, pixel, p.first + c));
    most = y > most ? y : most;
  }
  largest[i] = most;
}

static float largest_of(SoftmaxParams p, __global const float* largest, ulong pixel) {
  float most = -INFINITY;
  for (ulong k = 0; k < p.chunks; ++k) {
    const float y = largest[pixel * p.chunks + k];
    most = y > most ? y : most;
  }
  return most;
}

// The sum of each chunk.
__kernel void softmax_sum(__global const uchar* source, __global const float* largest,
                          SoftmaxParams p, __global float2* sums) {
  const ulong i = get_global_id(0);
  if (i >= p.source.width * p.source.height * p.chunks) return;
  const ulong pixel = quotient(i, p.chunks), first = (i - pixel * p.chunks) * p.chunk;
  const ulong end = min(first + p.chunk, p.channels);
  const float most = largest_of(p, largest, pixel);
  float2 sum = (float2)(0.0f, 0.0f);
  for (ulong c = first; c < end; ++c)
    sum = add(sum, exp(load(source, p.source, at(p.source, pixel, p.first + c)) - most));
  sums[i] = sum;
}

// Both values of each pixel.
__kernel void softmax_finish(__global const float* largest, __global const float2* sums,
                             SoftmaxParams p, __global float2* normalizers) {
  const ulong pixel = get_global_id(0);
  if (pixel >= p.source.width * p.source.height) return;
  float2 sum = (float2)(0.0f, 0.0f);
  for (ulong k = 0; k < p.chunks; ++k) sum = join(sum, sums[pixel * p.chunks + k]);
  normalizers[pixel] = (float2)(largest_of(p, largest, pixel), log(sum.x + sum.y));
}

// ---- Forward ----

// omega * l of one element, or 1 for a weight that is not 0.
static float loss_at(__global const uchar* source, __global const uchar* labels,
                     __global const uchar* weights, __global const float2* normalizers,
                     LossParams p, ulong pixel, ulong c) {
  const float omega = p.weights.exists ? load(weights, p.weights, at(p.weights, pixel, c)) : 1.0f;
  if (p.counts) return omega != 0.0f ? 1.0f : 0.0f;
  float y = load(source, p.source, at(p.source, pixel, c));
  if (p.formula.type == kSoftMaxCrossEntropy)
    y = (y - normalizers[pixel].x) - normalizers[pixel].y;
  return term(omega, loss_of(p.formula, y, load(labels, p.labels, at(p.labels, pixel, c))));
}

// Without a reduction: the losses themselves. The destination may be larger than the source.
__kernel void losses(__global const uchar* source, __global const uchar* labels,
                     __global const uchar* weights, __global const float2* normalizers,
                     LossParams p, __global uchar* loss) {
  const ulong i = get_global_id(0);
  if (i >= p.source.width * p.source.height * p.source.channels) return;
  const ulong pixel = quotient(i, p.source.channels), c = i - pixel * p.source.channels;
  const ulong row = quotient(pixel, p.source.width), x = pixel - row * p.source.width;
  const float l = loss_at(source, labels, weights, normalizers, p, pixel, c);
  store(loss, p.loss.format, at(p.loss, row * p.loss.width + x, c), l * p.weight);
}

// With one: partial sums of every strands-th element.
__kernel void sum_losses(__global const uchar* source, __global const uchar* labels,
                         __global const uchar* weights, __global const float2* normalizers,
                         LossParams p, __global float2* sums) {
  const ulong k = get_global_id(0);
  if (k >= p.strands) return;
  const ulong elements = p.source.width * p.source.height * p.source.channels;
  float2 sum = (float2)(0.0f, 0.0f);
  for (ulong i = k; i < elements; i += p.strands) {
    const ulong pixel = quotient(i, p.source.channels);
    sum = add(sum, loss_at(source, labels, weights, normalizers, p, pixel,
                           i - pixel * p.source.channels));
  }
  sums[k] = sum;
}

// ---- Gradient ----

// The pixel of an image that belongs to a pixel of the window; false if there is none.
static bool find_pixel(View view, Place place, ulong x, ulong y, ulong* pixel) {
  const long width = (long)view.width, height = (long)view.height;
  long column = add_sat(place.x, (long)x), row = add_sat(place.y, (long)y);
  if (place.clamped) {
    column = clamp(column, 0L, width - 1);
    row = clamp(row, 0L, height - 1);
  }
  if (column < 0 || column >= width || row < 0 || row >= height) return false;
  *pixel = (ulong)(row * width + column);
  return true;
}

// G w omega l' / D. A weight of 0, and a pixel that does not exist, give exactly 0 even where a
// factor is not finite.
__kernel void gradient(__global const uchar* source, __global const uchar* labels,
                       __global const uchar* weights, __global const uchar* upstream,
                       __global const float2* normalizers, __global const float2* counts,
                       GradientParams p, __global uchar* destination) {
  const ulong i = get_global_id(0);
  if (i >= p.width * p.height * p.channels) return;
  const ulong place = quotient(i, p.channels), c = i - place * p.channels;
  const ulong y = quotient(place, p.width), x = place - y * p.width;
  float result = 0.0f;
  ulong pixel, upstream_pixel = 0;
  const float divisor = divisor_of(p.divisor, counts);
  const bool exists =
      find_pixel(p.source, p.source_place, x, y, &pixel) &&
      (!p.by_element || find_pixel(p.upstream, p.upstream_place, x, y, &upstream_pixel));
  if (exists && divisor != 0.0f) {
    const ulong channel = p.source_place.channel + c;
    const float omega =
        p.weights.exists ? load(weights, p.weights, at(p.weights, pixel, channel)) : 1.0f;
    if (omega != 0.0f) {
      const ulong from =
          p.by_element ? at(p.upstream, upstream_pixel, p.upstream_place.channel + c) : 0;
      const float g = p.upstream.exists ? load(upstream, p.upstream, from) : 1.0f;
      float value = load(source, p.source, at(p.source, pixel, channel));
      if (p.softmax) value = (value - normalizers[pixel].x) - normalizers[pixel].y;
      const float t = load(labels, p.labels, at(p.labels, pixel, channel));
      const float slope =
          p.by_labels ? by_label(p.formula, value, t) : by_prediction(p.formula, value, t);
      result = omega * slope * (g * p.weight / divisor);
    }
  }
  const ulong target = (p.y + y) * p.gradient.width + p.x + x;
  store(destination, p.gradient.format, at(p.gradient, target, p.channel + c), result);
}
