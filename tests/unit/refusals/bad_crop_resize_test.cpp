// What BNNSCropResize and its gradient must refuse. The valid call copies two boxes of
// 2 x 2 pixels out of two planes of 3 x 2: the right half of each, and the left one. Boxes are
// data: whatever is in them, a call succeeds and stays inside its tensors.
#include <cmath>
#include <limits>

#include "support/call_table.h"

namespace bnns::test {
namespace {

struct Crop : CallBase {
  const char* function = "BNNSCropResize";
  BNNSLayerParametersCropResize params = {};
  BNNSFilterParameters options = {};
  Guarded<float> image{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, boxes{0, 1, 1, 2, 0, 0, 1, 1},
      crops{Space{18}};
  BNNSNDArrayDescriptor input = array(BNNSDataLayoutImageCHW, {3, 2, 2}, image.data());
  BNNSNDArrayDescriptor roi = array(BNNSDataLayout2DLastMajor, {4, 2}, boxes.data());
  BNNSNDArrayDescriptor output = array(BNNSDataLayout4DLastMajor, {2, 2, 2, 2}, crops.data());
  const BNNSLayerParametersCropResize* params_pointer = &params;
  BNNSNDArrayDescriptor *input_pointer = &input, *roi_pointer = &roi, *output_pointer = &output;

  Crop() {
    params.spatial_scale = 1;
    params.extrapolation_value = -1;
    params.sampling_mode = BNNSLinearSamplingAlignCorners;
    params.method = BNNSInterpolationMethodLinear;
  }
  Crop(const Crop&) = delete;
  template <class F>
  void for_outputs(const F& f) {
    f(image);
    f(boxes);
    f(crops);
  }
  bool run() {
    return BNNSCropResize(params_pointer, input_pointer, roi_pointer, output_pointer, &options) ==
           0;
  }
  bool correct() const {
    constexpr float kRight[] = {2, 3, 5, 6, 8, 9, 11, 12, 1, 2, 4, 5, 7, 8, 10, 11};
    return image.untouched() && boxes.untouched() &&
           crops.untouched_except([](size_t i) { return i < 16; }) &&
           std::equal(kRight, kRight + 16, crops.data());
  }
};

struct CropBackward : Crop {
  CropBackward() {
    function = "BNNSCropResizeBackward";
    for (size_t i = 0; i < crops.size(); ++i) crops[i] = static_cast<float>(i + 1);
    crops.remember();
  }
  bool run() {
    return BNNSCropResizeBackward(params_pointer, input_pointer, roi_pointer, output_pointer,
                                  &options) == 0;
  }
  bool correct() const {
    constexpr float kRight[] = {9, 11, 2, 11, 15, 4, 13, 19, 6, 15, 23, 8};
    return crops.untouched() && boxes.untouched() && std::equal(kRight, kRight + 12, image.data());
  }
};

struct Names {
  const char *image, *crops;
};

template <class C>
std::vector<Row<C>> common_rows(const Names& names, bool forward) {
  const std::string image = names.image, crops = names.crops;
  std::vector<Row<C>> rows = {
      {"no parameters", {"layer_params", "NULL"}, [](C& c) { c.params_pointer = nullptr; }},
      {"no image", {image + " is NULL"}, [](C& c) { c.input_pointer = nullptr; }},
      {"no roi", {"roi is NULL"}, [](C& c) { c.roi_pointer = nullptr; }},
      {"no crops", {crops + " is NULL"}, [](C& c) { c.output_pointer = nullptr; }},
      {"unknown flags", {"filter_params->flags", "4"}, [](C& c) { c.options.flags = 4; }},
      {"nearest", {"method", "Nearest", "only"}, [](C& c) {
         c.params.method = BNNSInterpolationMethodNearest;
       }}};
  append(rows, enum_rows<C>("method", BNNSInterpolationMethodLinear, [](C& c, uint32_t v) {
           c.params.method = static_cast<BNNSInterpolationMethod>(v);
         }));
  append(rows, enum_rows<C>("sampling_mode", BNNSLinearSamplingOffsetCorners, [](C& c, uint32_t v) {
           c.params.sampling_mode = static_cast<BNNSLinearSamplingMode>(v);
         }));
  append(rows, enum_rows<C>("box_coordinate_mode", BNNSCenterSizeWidthFirst, [](C& c, uint32_t v) {
           c.params.box_coordinate_mode = static_cast<BNNSBoxCoordinateMode>(v);
         }));
  for (const float bad : {NAN, INFINITY})
    rows.push_back(
        {"scale", {"spatial_scale is", "finite"}, [=](C& c) { c.params.spatial_scale = bad; }});
  append(rows, descriptor_rows<C>(
                   image, 3, [](C & c) -> auto& { return c.input; }, !forward));
  append(rows, descriptor_rows<C>(
                   "roi", 2, [](C & c) -> auto& { return c.roi; }, false));
  append(rows, descriptor_rows<C>(
                   crops, 3, [](C & c) -> auto& { return c.output; }, forward));
  append(
      rows,
      {
          {"integers",
           {image + ".data_type is Int8", "must be"},
           [](C& c) { c.input.data_type = BNNSDataTypeInt8; }},
          {"rotated",
           {image + ".layout", "rotated"},
           [](C& c) {
             c.input.layout = BNNSDataLayoutConvolutionWeightsOIHrWr;
             c.input.size[3] = 1;
           }},
          {"roi without data", {"roi.data is NULL"}, [](C& c) { c.roi.data = nullptr; }},
          {"crops without data", {crops + ".data is NULL"}, [](C& c) { c.output.data = nullptr; }},
          {"misaligned",
           {image + ".data is", "aligned to 4"},
           [](C& c) { c.input.data = reinterpret_cast<char*>(c.image.data()) + 2; }},
          {"a vector as image",
           {image + " is Vector {12}", "2 axes"},
           [](C& c) { c.input = vector_of(12, c.image.data()); }},
          {"a vector of boxes",
           {"roi is Vector {4}", "2 axes"},
           [](C& c) { c.roi = vector_of(4, c.boxes.data()); }},
          {"five coordinates",
           {"roi has 5 values", "4 coordinates"},
           [](C& c) { c.roi.size[0] = 5; }},
          {"more crops than boxes",
           {crops + " has the axes {1, 2, 2, 3}", image, "{3, 2, 2}", "2 boxes"},
           [](C& c) { c.output.size[0] = 1, c.output.size[3] = 3; }},
          {"other channels",
           {crops + " has the axes {2, 2, 1, 2}"},
           [](C& c) { c.output.size[2] = 1; }},
          {"no axis of boxes",
           {crops + " has the axes {2, 2, 2}"},
           [](C& c) { c.output.layout = BNNSDataLayoutImageCHW; }},
          {"crops over the image", {"overlap"}, [](C& c) { c.output.data = c.image.data() + 3; }},
      });
  return rows;
}

TEST(BadCropResize, Forward) {
  using C = Crop;
  auto rows = common_rows<C>({"input", "output"}, true);
  rows.push_back({"no data", {"input.data is NULL"}, [](C& c) { c.input.data = nullptr; }});
  rows.push_back({"over the boxes", {"output.data and roi.data overlap"}, [](C& c) {
                    c.roi.data = c.crops.data() + 2;
                  }});
  for (const float bad : {NAN, INFINITY})
    rows.push_back({"extrapolation", {"extrapolation_value is", "finite"}, [=](C& c) {
                      c.params.extrapolation_value = bad;
                    }});
  expect_refused(rows);
}

TEST(BadCropResize, Backward) {
  using C = CropBackward;
  auto rows = common_rows<C>({"in_delta", "out_delta"}, false);
  rows.push_back({"flags", {"in_delta.flags is 7"}, [](C& c) {
                    c.input.flags = static_cast<BNNSNDArrayFlags>(7);
                  }});
  rows.push_back({"over the boxes", {"in_delta.data and roi.data overlap"}, [](C& c) {
                    c.roi.data = c.image.data() + 2;
                  }});
  expect_refused(rows);
  // The extrapolation value has no part in the gradient.
  expect_accepted<C>({{"extrapolation", {}, [](C& c) { c.params.extrapolation_value = NAN; }}});
  C unwanted;
  unwanted.image.remember();
  unwanted.input.data = nullptr;
  EXPECT_TRUE(unwanted.run()) << OpenBNNSGetLastError();
  EXPECT_TRUE(unwanted.image.untouched());
}

// All combinations of four coordinates that are NaN, infinite, huge, or just inside or outside.
template <class C, class Check>
void with_hostile_boxes(const Check& check) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kMax = std::numeric_limits<float>::max();
  constexpr float kHostile[] = {NAN, kInf, -kInf, kMax, -kMax, 2147483648.0f, -1.0f, 1.9999999f};
  for (uint32_t sampling = 0; sampling < 5; ++sampling)
    for (uint32_t mode = 0; mode < 4; ++mode)
      for (size_t k = 0; k < 4096; ++k) {
        C c;
        c.params.sampling_mode = static_cast<BNNSLinearSamplingMode>(sampling);
        c.params.box_coordinate_mode = static_cast<BNNSBoxCoordinateMode>(mode);
        c.params.normalized_coordinates = k % 3 == 0;
        bool finite = true;
        for (size_t i = 0; i < 4; ++i) {
          c.boxes[i] = c.boxes[4 + i] = kHostile[k >> 3 * i & 7];
          finite &= std::isfinite(c.boxes[i]);
        }
        c.boxes.remember();
        ASSERT_TRUE(c.run()) << OpenBNNSGetLastError();
        ASSERT_TRUE(c.boxes.untouched());
        check(c, finite);
      }
}

TEST(BadCropResize, HostileBoxes) {
  with_hostile_boxes<Crop>([](Crop& c, bool finite) {
    ASSERT_TRUE(c.image.untouched());
    ASSERT_TRUE(c.crops.untouched_except([](size_t i) { return i < 16; }));
    for (size_t i = 0; i < 16; ++i) {
      ASSERT_TRUE(c.crops[i] >= -1 && c.crops[i] <= 12);
      ASSERT_TRUE(finite || c.crops[i] == -1);
    }
  });
}

TEST(BadCropResize, HostileBoxesBackward) {
  with_hostile_boxes<CropBackward>([](CropBackward& c, bool finite) {
    ASSERT_TRUE(c.crops.untouched());
    ASSERT_TRUE(c.image.untouched_except([](size_t) { return true; }));
    for (size_t i = 0; i < 12; ++i) {
      ASSERT_TRUE(std::isfinite(c.image[i]));
      ASSERT_TRUE(finite || c.image[i] == 0);
    }
  });
}

}  // namespace
}  // namespace bnns::test
