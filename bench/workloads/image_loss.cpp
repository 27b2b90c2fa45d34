// The gradient of a loss of images: input data and right results, those of the loss of rows.
#include "workloads/image_loss.h"

namespace bench {

ImageLoss::ImageLoss(size_t batch_size, size_t image_side, size_t channel_count)
    : batch(batch_size),
      side(image_side),
      channels(channel_count),
      loss(LossFunction::kSoftmaxCrossEntropy, batch * pixels(), channels) {}

Row ImageLoss::row(const std::string& op) const {
  Row row = loss.row(op);
  std::erase_if(row.expected, [](const Expected& e) { return e.tensor != "in_delta"; });
  return row;
}

void append_image_loss(std::vector<Workload>& list, bool quick) {
  const auto add = [&](size_t batch, size_t side, size_t channels) {
    const std::string extent = std::to_string(side);
    std::string name = "softmax-ce " + std::to_string(batch);
    name.append("x").append(extent).append("x").append(extent);
    name.append("x").append(std::to_string(channels));
    list.push_back({.family = "mps", .name = std::move(name), .ops = {"bwd"}, .make = [=] {
                      return std::make_unique<ImageLoss>(batch, side, channels);
                    }});
  };
  add(1, 1, 3);
  add(32, 1, 1000);
  add(8, quick ? 7 : 56, 64);
}

}  // namespace bench
