#include "ops/convolution/pass.h"

#include <algorithm>

#include "core/parallel.h"
#include "ops/convolution/buffer.h"

namespace bnns::impl {
namespace {

constexpr double kProductsPerNanosecond = 20;
// A grain takes several groups if together they have at most this many products.
constexpr size_t kGrainProducts = 100000;
constexpr float kZero = 0;

// Whether a grain computes every value of its output rows, so that it can also apply the activation
// and convert them.
bool writes_whole_rows(const ConvolutionPlan& plan) {
  return plan.covers() && plan.jobs() == 1 && plan.job(0).x.spread == 1;
}

class Runner {
 public:
  Runner(const ConvolutionContext& context, const ConvolutionPass& pass,
         const ConvolutionWork& work)
      : context_(context), batch_(pass.to.size), pass_(pass), one_(*pass.to.sample), work_(work) {
    const ConvolutionGeometry& g = context.geometry;
    const bool large = pass.direction == ConvolutionDirection::kToLarge;
    outputs_ = large ? g.large_channels : g.small_channels;
    sources_ = large ? g.small_channels : g.large_channels;
    whole_rows_ = writes_whole_rows(*pass.plan);
  }

  void run() {
    if (!pass_.plan->covers() && !pass_.epilogue.accumulate) fill();
    const ConvolutionPlan& plan = *pass_.plan;
    if (plan.shares()) run_jobs(plan.common(), 0, plan.jobs());
    for (size_t j = 0; j < plan.jobs() && !plan.shares(); ++j) run_jobs(plan.job(j), j, j + 1);
    if (pass_.epilogue.activation != nullptr && !whole_rows_) activate();
    if (pass_.moments != nullptr && !whole_rows_) collect_planes();
  }

 private:
  void fill() const;
  void activate() const;
  void collect_planes() const;
  void run_jobs(const ConvolutionJob& common, size_t first_job, size_t end_job);
  // Output rows from i0 on of one sample and group, output channels [m0, m0 + channels) of the
  // group.
  struct Block {
    size_t n, group, i0, m0, channels;
  };
  void run_block(const ConvolutionJob& job, const Block& block, const ConvolutionJob* to_fill,
                 float* work) const;
  void multiply(const ConvolutionJob& job, const Block& block, const ConvolutionJob* to_fill,
                ConvolutionProducts& products, float* work) const;
  // Whether the kernel itself applies the activation, a ReLU.
  bool rectifies(const ConvolutionJob& job) const {
    const FusedActivation* f = pass_.epilogue.activation;
    return f != nullptr && f->is_rectifier() && whole_rows_ &&
           job.choice == ConvolutionChoice::kManyOutputs;
  }
  void finish_block(const ConvolutionProducts& block) const;
  // A grid of outputs; `work` is free for copies.
  struct Grid {
    const float* data;
    size_t rows, columns, row, step;
  };
  Moments moments_of(const Grid& grid, float* work) const;
  void collect_block(const ConvolutionProducts& block, Moments* to, float* work) const;
  void convert_block(const ConvolutionProducts& block, size_t n, size_t channel, size_t y0) const;

  const ConvolutionContext& context_;
  size_t batch_;
  const ConvolutionPass& pass_;
  const View& one_;  // one sample of the output
  ConvolutionWork work_;
  size_t outputs_, sources_;  // output and source channels of one group
  bool whole_rows_;
};

// Outputs that no kernel tap reaches are sums of nothing.
void Runner::fill() const {
  const size_t channels = one_.extent[2];
  const double work = 0.2 * static_cast<double>(one_.count) * static_cast<double>(batch_);
  parallel_for(useful_threads(context_.threads, work), batch_ * channels, [&](size_t i, size_t) {
    const size_t n = i / channels, c = i % channels;
    const ChannelTerms terms = pass_.epilogue.row.from(c);
    float value = terms.bias == nullptr ? 0 : *terms.bias;
    if (terms.scale != nullptr) value = value * *terms.scale + *terms.shift;
    for (size_t y = 0; y < one_.extent[1]; ++y) {
      float* row = row_of(pass_.to, n, c, y);
      for (size_t x = 0; x < one_.extent[0]; ++x) row[x * one_.stride[0]] = value;
    }
  });
}

// Applies the activation to the whole output where several jobs write values of one row, after the
// last of them.
void Runner::activate() const {
  const FusedActivation& f = *pass_.epilogue.activation;
  const size_t width = one_.extent[0], height = one_.extent[1], channels = one_.extent[2];
  const size_t step = one_.stride[0];
  const double work = f.nanoseconds() * static_cast<double>(one_.count * batch_);
  const auto body = [&](size_t i, size_t worker) {
    float* plane = row_of(pass_.to, i / channels, i % channels, 0);
    if (step == 1) return f.forward({plane, one_.stride[1]}, height, width);
    float* copy = work_.of(worker);
    for (size_t y = 0; y < height; ++y) {
      float* row = plane + y * one_.stride[1];
      for (size_t x = 0; x < width; ++x) copy[x] = row[x * step];
      f.forward({copy, width}, 1, width);
      for (size_t x = 0; x < width; ++x) row[x * step] = copy[x];
    }
  };
  parallel_for(useful_threads(context_.threads, work), batch_ * channels, body);
}

// Runs jobs that read the same buffer, which is filled with the source rows of the job `common`.
void Runner::run_jobs(const ConvolutionJob& common, size_t first_job, size_t end_job) {
  const size_t groups = context_.geometry.groups, blocks = common.blocks();
  size_t block_products = 0;
  for (size_t j = first_job; j < end_job; ++j) {
    const ConvolutionJob& job = pass_.plan->job(j);
    block_products += outputs_ * (job.depth + 1) * job.rows * job.x.count;
  }
  // A grain takes several groups if they are small. If there are too few grains for the threads,
  // the output channels of a group are split over several.
  const size_t together = std::clamp<size_t>(kGrainProducts / block_products, 1, groups);
  const size_t group_grains = div_up(groups, together);
  const double products =
      static_cast<double>(batch_ * groups * blocks) * static_cast<double>(block_products);
  const size_t threads = useful_threads(context_.threads, products / kProductsPerNanosecond);
  const size_t grains = batch_ * group_grains * blocks;
  const size_t panels = div_up(outputs_, kPanel);
  const size_t splits =
      threads > 1 && grains < 4 * threads ? std::clamp<size_t>(4 * threads / grains, 1, panels) : 1;
  const size_t channels = div_up(panels, splits) * kPanel;
  parallel_for(threads, grains * splits, [&](size_t grain, size_t worker) {
    const size_t m0 = grain % splits * channels;
    if (m0 >= outputs_) return;
    const size_t rest = grain / splits;
    const size_t first = rest / blocks % group_grains * together;
    for (size_t g = first; g < std::min(groups, first + together); ++g) {
      const Block block = {.n = rest / blocks / group_grains,
                           .group = g,
                           .i0 = rest % blocks * common.rows,
                           .m0 = m0,
                           .channels = std::min(channels, outputs_ - m0)};
      const ConvolutionJob* to_fill = &common;
      for (size_t j = first_job; j < end_job; ++j) {
        const ConvolutionJob& job = pass_.plan->job(j);
        if (block.i0 >= job.y.count) continue;
        run_block(job, block, to_fill, work_.of(worker));
        to_fill = nullptr;
      }
    }
  });
}

// Computes one block of a job. The buffer is first filled with the source rows of the job
// `to_fill`; NULL: an earlier job of the block has filled it.
void Runner::run_block(const ConvolutionJob& job, const Block& block, const ConvolutionJob* to_fill,
                       float* work) const {
  const size_t n = block.n, group = block.group, i0 = block.i0, channels = block.channels;
  const size_t rows = std::min(job.rows, job.y.count - i0);
  float* row_scratch = work + pass_.plan->buffer();
  const size_t channel = group * outputs_ + block.m0, y0 = job.y.first + i0 * job.y.spread;
  ConvolutionProducts products = {.x = work,
                                  .x_row = job.pitch,
                                  .x_plane = 0,
                                  .offset = job.offset,
                                  .depth = job.depth,
                                  .panels = pass_.panels + job.panels + channel * job.depth,
                                  .channels = channels,
                                  .leads = block.m0 == 0,
                                  .rows = rows,
                                  .columns = job.x.count,
                                  .epilogue = {.row = pass_.epilogue.row.from(channel),
                                               .accumulate = pass_.epilogue.accumulate,
                                               .least = rectifies(job) ? &kZero : nullptr}};
  const bool activation = pass_.epilogue.activation != nullptr;
  const bool direct = stores_direct(one_, activation) || !whole_rows_;
  if (direct) {
    products.out = row_of(pass_.to, n, channel, y0) + job.x.first * one_.stride[0];
    products.out_plane = one_.stride[2];
    products.out_row = job.y.spread * one_.stride[1];
    products.out_step = job.x.spread * one_.stride[0];
  } else {
    products.out = row_scratch + RowReader::scratch(pass_.plan->widest_source());
    products.out_plane = rows * job.x.count;
    products.out_row = job.x.count;
    products.out_step = 1;
  }
  // Rows without gaps between them, in the buffer and in the output, are treated as one long row.
  if (job.pitch == products.columns && products.out_row == products.columns * products.out_step) {
    products.columns *= rows;
    products.rows = 1;
  }
  multiply(job, block, to_fill, products, work);
  if (activation && whole_rows_ && products.epilogue.least == nullptr) finish_block(products);
  if (pass_.moments != nullptr && whole_rows_) {
    const size_t part = n * job.blocks() + i0 / job.rows;
    collect_block(products, pass_.moments + part * one_.extent[2] + channel, work);
  }
  if (!direct) {
    products.rows = rows;
    convert_block(products, n, channel, y0);
  }
}

void Runner::multiply(const ConvolutionJob& job, const Block& block, const ConvolutionJob* to_fill,
                      ConvolutionProducts& products, float* work) const {
  const ConvolutionKernels& kernels = context_.kernels;
  const ConvolutionPlan& plan = *pass_.plan;
  const RowReader& source = pass_.source;
  const size_t n = block.n, channel = block.group * sources_, i0 = block.i0;
  const bool many = job.choice == ConvolutionChoice::kManyOutputs;
  // With many source channels the depthwise kernel adds to outputs that would be scaled already.
  const bool is_depthwise = job.choice == ConvolutionChoice::kDepthwise3x3 &&
                            (products.epilogue.row.scale == nullptr || job.depth <= kDepthBlock);
  if (is_depthwise && !plan.shares() && is_depthwise_source(kernels, job, source))
    return kernels.depthwise_products(depthwise_of_source(job, source, n, channel, i0), products);
  if (many && !plan.shares() && products.columns >= kernels.tile && is_source_itself(job, source) &&
      source.one().stride[1] == job.pitch) {
    products.x = row_of(source.images(), n, channel, i0);
    products.x_plane = source.one().stride[2];
  } else if (to_fill != nullptr) {
    fill_buffer(kernels, *to_fill, source, n, channel, sources_, i0,
                std::min(to_fill->rows, to_fill->y.count - i0), work, work + plan.buffer());
  }
  if (is_depthwise)
    return kernels.depthwise_products(depthwise_of_buffer(job, work, plan.buffer()), products);
  (many ? kernels.packed_products : kernels.products)(products);
}

void Runner::finish_block(const ConvolutionProducts& block) const {
  const size_t width = one_.extent[0], rows = block.rows * (block.columns / width);
  const size_t step = block.rows > 1 ? block.out_row : width;
  for (size_t m = 0; m < block.channels; ++m)
    pass_.epilogue.activation->forward({block.out + m * block.out_plane, step}, rows, width);
}

// Values that are not contiguous are copied, a row of the image at a time.
Moments Runner::moments_of(const Grid& grid, float* work) const {
  const auto moments = context_.statistics->moments;
  if (grid.step == 1 && grid.row == grid.columns)
    return moments(grid.data, grid.rows * grid.columns, 0);
  const size_t width = one_.extent[0];
  Moments all;
  for (size_t i = 0; i < grid.rows; ++i) {
    const float* row = grid.data + i * grid.row;
    if (grid.step == 1) {
      all.join(moments(row, grid.columns, 0));
      continue;
    }
    for (size_t x = 0; x < grid.columns; x += width, row += width * grid.step) {
      for (size_t j = 0; j < width; ++j) work[j] = row[j * grid.step];
      all.join(moments(work, width, 0));
    }
  }
  return all;
}

void Runner::collect_block(const ConvolutionProducts& block, Moments* to, float* work) const {
  for (size_t m = 0; m < block.channels; ++m) {
    to[m] = moments_of({.data = block.out + m * block.out_plane,
                        .rows = block.rows,
                        .columns = block.columns,
                        .row = block.out_row,
                        .step = block.out_step},
                       work);
  }
}

// Where several jobs write values of one row, planes are complete only after the last of them.
void Runner::collect_planes() const {
  const size_t channels = one_.extent[2];
  const double work = 0.4 * static_cast<double>(one_.count) * static_cast<double>(batch_);
  parallel_for(
      useful_threads(context_.threads, work), batch_ * channels, [&](size_t i, size_t worker) {
        pass_.moments[i] = moments_of({.data = row_of(pass_.to, i / channels, i % channels, 0),
                                       .rows = one_.extent[1],
                                       .columns = one_.extent[0],
                                       .row = one_.stride[1],
                                       .step = one_.stride[0]},
                                      work_.of(worker));
      });
}

void Runner::convert_block(const ConvolutionProducts& block, size_t n, size_t channel,
                           size_t y0) const {
  const size_t width = one_.extent[0];
  for (size_t m = 0; m < block.channels; ++m) {
    for (size_t i = 0; i < block.rows; ++i) {
      write_values(*context_.run.convert, row_view(pass_.to, n, channel + m, y0 + i), 0, width,
                   block.out + m * block.out_plane + i * width);
    }
  }
}

}  // namespace

size_t moment_parts(const ConvolutionPlan& plan) {
  return writes_whole_rows(plan) ? plan.job(0).blocks() : 1;
}

bool stores_direct(const View& one, bool activation) {
  return one.is_float() && (one.stride[0] == 1 || !activation);
}

size_t pass_scratch(const ConvolutionPlan& plan, const View& one, size_t channels,
                    bool activation) {
  constexpr const char* kWhat = "the working memory of a convolution";
  size_t floats = checked_add(plan.buffer(), RowReader::scratch(plan.widest_source()), kWhat);
  floats = std::max(floats, one.extent[0]);
  if (stores_direct(one, activation) || !writes_whole_rows(plan)) return floats;
  const size_t block = checked_mul(plan.job(0).rows, one.extent[0], kWhat);
  return checked_add(floats, checked_mul(channels, block, kWhat), kWhat);
}

void run_pass(const ConvolutionContext& context, const ConvolutionPass& pass,
              const ConvolutionWork& work) {
  Runner(context, pass, work).run();
}

}  // namespace bnns::impl
